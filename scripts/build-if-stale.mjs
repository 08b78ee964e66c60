// Runs before `npm start`, `npm test` and `npm run bench`.
import path from 'node:path';
import { ensureBuild } from './build/ensure-build.mjs';

process.exitCode = await ensureBuild(path.resolve(import.meta.dirname, '..'));
