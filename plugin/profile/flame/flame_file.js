// A flame graph as a file (flamegraph.c): puts the one that people use in the
// place of the picture that is there without a script.
'use strict';
(function () {
    const SVG = 'http://www.w3.org/2000/svg';
    const script = document.currentScript;
    const svg = script ? script.closest('svg') : document.documentElement;
    const alone = svg === document.documentElement;
    const tree = flameTree.parse(svg.querySelector('#calls').textContent);
    const element = Flame.element;
    const host = element('div', {});
    const page = element('div', {class: 'flame-file'},
        element('h1', {}, tree.title),
        ...tree.notes.map((note) => element('p', {}, note)), host,
        element('p', {class: 'flame-foot'}, 'Width: ' + (tree.difference ? 'how much changed, in ' : '') +
            `${tree.unit} ${tree.measure}` +
            (tree.difference ? '; red grew, blue shrank, grey is within noise' : '')));

    function place() {
        const box = document.createElementNS(SVG, 'foreignObject');
        box.setAttribute('width', '100%');
        box.setAttribute('height', '100%');
        box.append(page);
        for (const one of svg.querySelectorAll(':scope > rect, :scope > g, :scope > text'))
            one.remove();
        svg.removeAttribute('viewBox');
        svg.setAttribute('width', '100%');
        svg.setAttribute('height', alone ? '100%' : '640');
        svg.append(box);
    }

    place();
    const flame = new Flame(host, tree);
    flamePaint.scheme.addEventListener('change', () => flame.paint());
    window.addEventListener('keydown', (event) => {
        if ((event.ctrlKey || event.metaKey) && event.key === 'f') {
            event.preventDefault();
            flame.search.focus();
            flame.search.select();
        } else if (event.key === '/' && !event.defaultPrevented && !event.ctrlKey && !event.metaKey && !event.altKey && event.target !== flame.search) {
            event.preventDefault();
            flame.search.focus();
        } else if (event.key === 'Escape' && !host.contains(event.target)) {
            flame.escape();
        }
    });
})();
