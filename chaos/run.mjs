// Sends mail through real processes while they are killed, stopped and cut off, and compares all ledgers at the end.
// See docs/reliability.md. Linux only: every receiving server has a loopback address of its own.
import { makePlan } from './plan/plan.mjs';
import { play } from './play.mjs';
import { parseSettings, USAGE } from './settings.mjs';

const settings = parseSettings(process.argv.slice(2));
if (settings.help) process.stdout.write(USAGE);
else await play(makePlan(settings), settings);
