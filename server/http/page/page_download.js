// What is shown, as a file.
'use strict';
const pageDownload = (function () {
    const KEEP_MS = 60000;
    // By the function of SQL: what people call it, the end of the file's name.
    const FORMS = {
        flamegraph: ['flame graph, SVG', 'svg'], svg: ['call graph, SVG', 'graph.svg'], dot: ['call graph, dot', 'dot'],
        pdf: ['call graph, PDF', 'pdf'], pprof: ['pprof', 'pb.gz'], collapsed: ['collapsed stacks', 'txt'],
        text: ['all functions, text', 'functions.txt'], export: ['snapshot', 'heapwire'],
    };

    // Of forms [form, text].  Other nodes do not send a snapshot itself, and a
    // difference is none.
    const list = (whole) => Object.entries(FORMS).filter(([form]) => form !== 'export' || whole).map(([form, [text]]) => [form, text]);

    function save(blob, name) {
        const url = URL.createObjectURL(blob);
        Flame.element('a', {href: url, download: name}).click();
        setTimeout(() => URL.revokeObjectURL(url), KEEP_MS);
    }

    // view: the arguments of the form, as SQL has them; seconds: of a profile that is
    // taken for it.
    async function get(form, view, name, seconds = 0) {
        const blob = await pageStatus.wait(`Making ${FORMS[form][0]}`, (signal) =>
            data.value(`SELECT ${form}(${view})`, signal), undefined, seconds);
        save(blob, `${name}.${FORMS[form][1]}`);
    }

    return {list, get};
})();
