// Which names match a regular expression.  Some take for ever to say so: a worker
// tries it, so that the page goes on, and is given up.
'use strict';
const flameSearch = (function () {
    const PATIENCE_MS = 5000, FLAGS = 'iu';
    const WORK = `onmessage = ({data: [names, text]}) => {
        const pattern = new RegExp(text, '${FLAGS}');
        postMessage(names.map((name) => pattern.test(name)));
    }`;
    const place = URL.createObjectURL(new Blob([WORK], {type: 'text/javascript'}));

    // Throws if the text is none.  Calls found(hits) or failed(why), later, unless
    // the function that it gives is called before.
    return function (names, text, found, failed) {
        let worker = null, timer = 0;
        const stop = () => {
            clearTimeout(timer);
            worker.terminate();
        };
        const end = (how, what) => {
            stop();
            how(what);
        };
        RegExp(text, FLAGS);
        worker = new Worker(place);
        worker.onmessage = ({data: hits}) => end(found, hits);
        worker.onerror = ({message}) => end(failed, message || 'no worker may run');
        timer = setTimeout(() => end(failed, 'it takes too long'), PATIENCE_MS);
        worker.postMessage([names, text]);
        return stop;
    };
})();
