// A rolling upgrade while mail is sent: processes of an earlier release and of this build work on one schema. See
// docs/upgrading.md. Linux only, as the other runs.
import { makeUpgradePlan } from './plan/plan.mjs';
import { play } from './play.mjs';
import { latestRelease, releasesFrom } from './processes/release.mjs';
import { parseUpgradeSettings, UPGRADE_USAGE } from './settings.mjs';

const settings = parseUpgradeSettings(process.argv.slice(2));
const from = settings.from ?? (await latestRelease());
if (settings.help) {
  process.stdout.write(UPGRADE_USAGE);
} else if (from === undefined) {
  process.stderr.write('There is no release here: no tag v*. Name a revision to upgrade from: --from <git revision>\n');
  process.exitCode = 2;
} else {
  await play(makeUpgradePlan(settings), settings, await releasesFrom(from));
}
