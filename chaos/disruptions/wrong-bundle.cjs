// Preloaded into a worker (`node --require`): changes its workflow bundle as a wrong deployment would, by CHAOS_BUNDLE.
//   broken   every run fails in its first statement
//   longer   every run has a step more than its history
const promises = require('node:fs/promises');

const CHANGES = {
  broken: (code) => code.replace(/(async function fileRemittances\([^)]*\) \{)/, '$1 undefined.noSuchThing;'),
  longer: (code) => code.replace(/return await ([^;]*\)\(summary\)\.advanceFiling\(args\);)/, 'await $1 $&'),
};
const change = CHANGES[process.env.CHAOS_BUNDLE];
const { readFile } = promises;

if (change) {
  promises.readFile = async (path, ...options) => {
    const content = await readFile(path, ...options);
    if (!/workflow-bundle[\w-]*\.js$/.test(String(path))) return content;
    const changed = change(String(content));
    if (changed === String(content)) throw new Error('The bundle has no place for this change.');
    return changed;
  };
}
