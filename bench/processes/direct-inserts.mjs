// The statements with which the product accepts emails, run from a plain script: the limit set by the database and its driver.
import { serve } from '../harness/helper.mjs';
import { DirectInserts } from '../harness/direct-inserts.mjs';

let inserts;

serve({
  start: ({ environment, connections, tenant }) => {
    inserts = new DirectInserts({ url: environment.DATABASE_URL, connections, tenant });
  },
  run: ({ bodies, seconds }) => inserts.runFor(bodies, seconds),
});
