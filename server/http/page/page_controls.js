// Choices and tabs.
'use strict';
const pageControls = (function () {
    // list: of [value, text].
    function options(select, list, chosen) {
        const all = chosen && !list.some(([value]) => value === chosen) ? [...list, [chosen, chosen]] : list;
        const text = JSON.stringify(all);
        if (select.shows !== text) // one that is open stays as it is
            select.replaceChildren(...all.map(([value, what]) => Flame.element('option', {value}, what)));
        select.shows = text;
        select.value = chosen;
    }

    // Tabs by the keyboard.
    function arrows(tabs) {
        tabs.addEventListener('keydown', (event) => {
            const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
            if (!step)
                return;
            const list = Array.from(tabs.children).filter((one) => !one.hidden);
            const next = list[(list.indexOf(event.target) + step + list.length) % list.length];
            next.focus();
            next.click();
        });
    }

    return {options, arrows};
})();
