// Writes the names of the packages that a program has loaded to file descriptor 3 when it ends, as a JSON list.
const { writeSync } = require('node:fs');

process.on('exit', () => {
  const inPackages = Object.keys(require.cache).flatMap((path) => path.split(/node_modules[\\/]/).slice(-1));
  const names = inPackages.map((path) => /^(@[^\\/]+[\\/])?[^\\/]+/.exec(path)?.[0].replace('\\', '/'));
  writeSync(3, JSON.stringify([...new Set(names)].sort()));
});
