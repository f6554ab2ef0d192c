// What is chosen, which is in the URL.
'use strict';
const pageAddress = (function () {
    const state = {};
    const address = () => '#' + new URLSearchParams(state);

    function readAddress() {
        for (const key of Object.keys(state))
            delete state[key];
        Object.assign(state, Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
    }

    // What quietly changes is no step to go back to.
    function keep(changes, quietly) {
        const before = address();
        for (const [key, value] of Object.entries(changes))
            if (value)
                state[key] = value;
            else
                delete state[key];
        if (address() !== before)
            history[quietly ? 'replaceState' : 'pushState'](null, '', address());
    }

    const FLAME_STATE = ['zoom', 'search', 'icicle', 'sandwich', 'color'];
    const flameState = () => Object.fromEntries(FLAME_STATE.map((key) => [key, state[key]]));

    function keepFlame(changes) {
        const all = Object.fromEntries(FLAME_STATE.map((key) => [key, changes[key] || '']));
        keep(all, FLAME_STATE.every((key) => key === 'search' || all[key] === (state[key] || '')));
    }

    return {state, address, readAddress, keep, flameState, keepFlame};
})();
