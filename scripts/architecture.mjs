// Checks that no two folders import each other: `npm run architecture` runs it after the import rules of
// .dependency-cruiser.cjs. Run it in the folder that holds `src`.
import { mutualFolders, readSources } from './source-tree.mjs';

const pairs = mutualFolders(readSources());
for (const { one, other, there, back } of pairs) {
  console.error(`${one} and ${other} import each other:
  ${there.from} imports ${there.to}
  ${back.from} imports ${back.to}`);
}
if (pairs.length > 0) {
  console.error(`
What to do: decide which of the two folders the other one is built on; only that one may be imported. Move the shared type
or function into the folder that is imported, or into a sub-folder of it. Where both need it and neither is below the
other, move it one level up into a third folder that both import. A folder and its own dto/ or sql/ are one.`);
  process.exit(1);
}
