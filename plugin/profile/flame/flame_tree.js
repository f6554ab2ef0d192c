// The tree of calls that flame graphs are drawn from: calls.h has its JSON.
//
// A frame is a number, in the order of a walk: callers come first, and all that
// frame i called, itself or through others, is i + 1 to end[i] - 1.  width is
// what a frame is drawn with, x where it begins, both in the unit of the root.
'use strict';
const flameTree = (function () {
    function lay(tree) {
        const count = tree.count = tree.name.length, path = [];
        const next = new Float64Array(count); // where the next callee begins
        tree.parent = new Int32Array(count).fill(-1);
        tree.end = new Int32Array(count).fill(count);
        tree.x = new Float64Array(count);
        tree.rows = [];
        for (let i = 0; i < count; i++) {
            const depth = tree.depth[i];
            for (const left of path.splice(depth))
                tree.end[left] = i;
            if (depth > 0) {
                const parent = tree.parent[i] = path[depth - 1];
                tree.x[i] = next[parent];
                next[parent] += tree.width[i];
            }
            next[i] = tree.x[i];
            path[depth] = i;
            (tree.rows[depth] = tree.rows[depth] || []).push(i);
        }
        return tree;
    }

    function parse(text) {
        const tree = JSON.parse(text);
        tree.width = tree.difference ? tree.changed : tree.total;
        tree.changed = tree.width;
        tree.noise = tree.noise || new Uint8Array(tree.name.length);
        tree.heaviest = 1;
        for (const total of tree.total)
            tree.heaviest = Math.max(tree.heaviest, Math.abs(total));
        return lay(tree);
    }

    // A tree in the making, whose frames come in any order: equal paths are one.
    class Merger {
        constructor(source, name) {
            this.source = source;
            this.children = [new Map()];
            this.name = [name];
            this.figures = [{total: 0, self: 0, changed: 0, noise: 1}];
        }

        child(parent, name) {
            let at = this.children[parent].get(name);
            if (at === undefined) {
                at = this.name.push(name) - 1;
                this.children.push(new Map());
                this.children[parent].set(name, at);
                this.figures.push({total: 0, self: 0, changed: 0, noise: 1});
            }
            return at;
        }

        // Adds frame i of the source; its own part is self.
        add(at, i, self) {
            const figures = this.figures[at], source = this.source;
            figures.total += source.total[i];
            figures.changed += source.width[i];
            figures.self += self;
            figures.noise &= source.noise[i];
        }

        finish() {
            const source = this.source;
            const tree = Object.assign({}, source, {
                name: [], depth: [], total: [], self: [], width: [], noise: []});
            const order = (a, b) => source.names[a] < source.names[b] ? -1 : 1;
            const walk = [[0, 0]];
            while (walk.length) {
                const [at, depth] = walk.pop(), figures = this.figures[at];
                tree.name.push(this.name[at]);
                tree.depth.push(depth);
                tree.total.push(figures.total);
                tree.self.push(figures.self);
                tree.width.push(figures.changed);
                tree.noise.push(figures.noise);
                const names = Array.from(this.children[at].keys()).sort(order);
                for (const name of names.reverse())
                    walk.push([this.children[at].get(name), depth + 1]);
            }
            tree.changed = tree.width;
            return lay(tree);
        }
    }

    // The frames of that name; of recursive calls, the first.
    function occurrences(tree, name) {
        const found = [];
        for (let i = 0; i < tree.count;) {
            if (tree.name[i] === name) {
                found.push(i);
                i = tree.end[i];
            } else {
                i++;
            }
        }
        return found;
    }

    // All that functions of that name called, as one tree below it.
    function callees(tree, name) {
        const merger = new Merger(tree, name), place = new Map();
        for (const first of occurrences(tree, name))
            for (let i = first; i < tree.end[first]; i++) {
                const at = i === first ? 0 :
                    merger.child(place.get(tree.parent[i]), tree.name[i]);
                place.set(i, at);
                merger.add(at, i, tree.self[i]);
            }
        return merger.finish();
    }

    // All that called them, turned round: callers are above what they call.
    function callers(tree, name) {
        const merger = new Merger(tree, name);
        for (const first of occurrences(tree, name)) {
            let at = 0;
            merger.add(at, first, tree.self[first]);
            for (let i = tree.parent[first]; i > 0; i = tree.parent[i]) {
                at = merger.child(at, tree.name[i]);
                merger.add(at, first, 0);
            }
        }
        return merger.finish();
    }

    // How many frames have a name that is a hit, and what part of the whole they
    // are; one within another does not count twice.
    function covered(tree, hits) {
        let frames = 0, sum = 0, end = 0;
        for (let i = 0; i < tree.count; i++) {
            if (!hits[tree.name[i]])
                continue;
            frames++;
            if (i < end)
                continue;
            sum += tree.width[i];
            end = tree.end[i];
        }
        return {frames, part: sum / (tree.width[0] || 1)};
    }

    return {parse, callees, callers, covered};
})();
