// Flame graphs on a canvas: where each frame is, and the drawing of it.
//
// A panel is a tree with its root at one edge: {tree, up, zoom, top}, up if
// callees are above their callers, zoom the frame that is as wide as the canvas,
// top its first row.  A sandwich has two panels.
'use strict';
const flameCanvas = (function () {
    const PAD = 3, GAP = 0.5, NARROW = 0.7;
    const FONT = 'ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace';

    const rowOf = (panel, depth) => panel.top +
        (panel.up ? panel.tree.rows.length - 1 - depth : depth);
    const depthOf = (panel, row) => panel.up ?
        panel.tree.rows.length - 1 - (row - panel.top) : row - panel.top;

    // The first place in a sorted row whose frame is not before i.
    function lowest(row, i) {
        let low = 0, high = row.length;
        while (low < high) {
            const middle = low + high >> 1;
            if (row[middle] < i)
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    }

    function ancestor(tree, i, depth) {
        while (tree.depth[i] > depth)
            i = tree.parent[i];
        return i;
    }

    // Calls visit(frame, x, width, under) for the frames of one depth in sight;
    // those that the zoomed one stands upon are under it.
    function eachOf(panel, depth, width, visit) {
        const tree = panel.tree, zoom = panel.zoom, row = tree.rows[depth];
        if (depth < tree.depth[zoom]) {
            visit(ancestor(tree, zoom, depth), 0, width, true);
            return;
        }
        const scale = width / (tree.width[zoom] || 1), from = tree.x[zoom];
        for (let k = lowest(row, zoom); k < row.length && row[k] < tree.end[zoom]; k++)
            visit(row[k], (tree.x[row[k]] - from) * scale, tree.width[row[k]] * scale, false);
    }

    function frameAt(panel, depth, x, width) {
        const tree = panel.tree, zoom = panel.zoom, row = tree.rows[depth];
        if (!row)
            return -1;
        if (depth < tree.depth[zoom])
            return ancestor(tree, zoom, depth);
        const at = tree.x[zoom] + x / width * tree.width[zoom];
        let low = lowest(row, zoom), high = lowest(row, tree.end[zoom]) - 1;
        while (low < high) {
            const middle = low + high + 1 >> 1;
            if (tree.x[row[middle]] <= at)
                low = middle;
            else
                high = middle - 1;
        }
        const frame = low <= high ? row[low] : -1;
        return frame >= 0 && at >= tree.x[frame] &&
            at <= tree.x[frame] + tree.width[frame] ? frame : -1;
    }

    class Brush {
        constructor(canvas) {
            this.canvas = canvas;
            this.pen = canvas.getContext('2d');
            this.measure();
        }

        // The text is as large as the page's: people choose that.
        measure() {
            this.size = parseFloat(getComputedStyle(this.canvas).fontSize) || 12;
            this.step = Math.round(this.size * 1.5); // from a row to the next
            this.frame = this.step - 1;
        }

        resize(width, height) {
            const ratio = window.devicePixelRatio || 1;
            this.width = this.room = width; // room: of the frames
            this.height = height;
            this.canvas.width = Math.round(width * ratio);
            this.canvas.height = Math.round(height * ratio);
            this.canvas.style.width = width + 'px';
            this.canvas.style.height = height + 'px';
            this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
            this.pen.font = `${this.size}px ${FONT}`;
            this.pen.textBaseline = 'middle';
            this.column = this.pen.measureText('0').width;
        }

        // Frames too narrow to tell apart are one grey box; a pixel with a hit
        // shows it.
        flush(y) {
            if (this.runEnd > this.runStart)
                this.box(this.colors.crowd, this.runStart, y, this.runEnd - this.runStart);
            for (const x of this.runHits)
                this.box(this.colors.hit, x, y, 1);
            this.runStart = this.runEnd = -1;
            this.runHits = [];
        }

        box(color, x, y, width) {
            this.pen.fillStyle = color;
            this.pen.fillRect(x, y, width, this.frame);
        }

        label(name, x, y, width) {
            const text = flamePaint.fit(name, Math.floor((width - 2 * PAD) / this.column));
            if (!text)
                return;
            this.pen.fillStyle = this.colors.ink;
            this.pen.fillText(text, x + PAD, y + this.frame / 2 + 0.5, width - 2 * PAD);
        }

        row(panel, depth, y, hits) {
            const tree = panel.tree;
            this.runStart = this.runEnd = -1;
            this.runHits = [];
            eachOf(panel, depth, this.room, (i, x, width, under) => {
                const hit = hits && hits[tree.name[i]];
                if (width < NARROW) {
                    if (x > this.runEnd + 1 || this.runStart < 0) {
                        this.flush(y);
                        this.runStart = x;
                    }
                    this.runEnd = Math.max(x + width, this.runStart + 0.3);
                    if (hit && !(x < this.runHits[this.runHits.length - 1] + 1))
                        this.runHits.push(Math.floor(x));
                    return;
                }
                this.flush(y);
                if (under) { // pale, on paper of any color
                    this.box(this.colors.paper, x, y, width - GAP);
                    this.pen.globalAlpha = 0.55;
                }
                this.box(hit ? this.colors.hit : panel.color(i), x, y, Math.max(width - GAP, 0.4));
                this.pen.globalAlpha = 1;
                if (width > 20)
                    this.label(tree.names[tree.name[i]], x, y, width);
            });
            this.flush(y);
        }

        clear() {
            this.pen.clearRect(0, 0, this.width, this.height);
        }

        // What the profile does not see stands beside all frames.
        unseen(panel, scroll) {
            const from = -scroll, rows = panel.tree.rows.length, width = this.width - this.room;
            this.pen.fillStyle = this.colors.grey;
            this.pen.fillRect(this.room, from, width, rows * this.step - 1);
            this.label(`${flamePaint.UNSEEN} ${flamePaint.size(panel.tree.unseen)}`, this.room, rowOf(panel, 0) * this.step - scroll, width);
        }

        draw(panels, scroll, hits) {
            this.colors = flamePaint.palette();
            this.clear();
            if (this.room < this.width)
                this.unseen(panels[0], scroll);
            for (const panel of panels)
                for (let depth = 0; depth < panel.tree.rows.length; depth++) {
                    const y = rowOf(panel, depth) * this.step - scroll;
                    if (y > -this.step && y < this.height)
                        this.row(panel, depth, y, hits);
                }
        }

        // Around one frame, if it is in sight.
        outline(panel, frame, scroll, color, thick) {
            const depth = panel.tree.depth[frame];
            const y = rowOf(panel, depth) * this.step - scroll;
            eachOf(panel, depth, this.room, (i, x, width) => {
                if (i !== frame)
                    return;
                this.pen.strokeStyle = color;
                this.pen.lineWidth = thick;
                this.pen.strokeRect(x + thick / 2, y + thick / 2,
                    Math.max(width - GAP - thick, 1), this.frame - thick);
            });
        }
    }

    return {Brush, rowOf, depthOf, eachOf, frameAt};
})();
