// Hostile inputs over the wire, 50,000 of them: `npm run fuzz`. FUZZ_INPUTS and FUZZ_SEED change how many and which; a failure
// prints the seed and the smallest input that shows it.
import { spawnSync } from 'node:child_process';

const seed = process.env.FUZZ_SEED ?? String(Date.now() % 2 ** 31);
const inputs = process.env.FUZZ_INPUTS ?? '50000';
console.log(`${inputs} inputs from FUZZ_SEED=${seed}`);
const { status } = spawnSync('npx', ['jest', '--selectProjects', 'integration', '--', 'test/integration/fuzz'], {
  stdio: 'inherit',
  shell: process.platform === 'win32',
  env: { ...process.env, FUZZ_INPUTS: inputs, FUZZ_SEED: seed },
});
process.exit(status ?? 1);
