// The operator's command line (`npm run waybill -- …`): builds if needed, then runs dist/cli/main.js in the
// same process, so that arguments, output, exit code and signals are the command's own.
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ensureBuild } from './build/ensure-build.mjs';

const root = path.resolve(import.meta.dirname, '..');
const exitCode = await ensureBuild(root);
if (exitCode === 0) {
  const main = path.join(root, 'dist', 'cli', 'main.js');
  process.argv[1] = main;
  await import(pathToFileURL(main).href);
} else {
  process.exitCode = exitCode;
}
