import { Logger } from '@nestjs/common';
import { waitFor } from '../../../test/setup/wait-for';
import { Metrics } from '../metrics/metrics';
import { deleteInBatches } from './delete-in-batches';
import { PeriodicJobs } from './periodic-jobs';

describe('PeriodicJobs', () => {
  let metrics: Metrics;
  let jobs: PeriodicJobs;
  beforeEach(() => (jobs = new PeriodicJobs((metrics = new Metrics()))));
  afterEach(() => jobs.onModuleDestroy());

  const metric = (name: string) => metrics.registry.getSingleMetricAsString(`waybill_${name}`);

  it('counts what removals have removed, and tells when a job last came to its end', async () => {
    const found = [3, 4, 0];
    jobs.startRemoval({ name: 'tidy', everyMs: 1, run: () => Promise.resolve(found.shift() ?? 0) });
    await waitFor(() => found.length === 0, { what: 'three runs' });
    await waitFor(async () => (await metric('job_runs_total')).includes('result="ok"'), { what: 'the end of a run' });
    expect(await metric('retention_removed_rows_total')).toContain('{job="tidy"} 7');
    expect(await metric('job_last_success_timestamp_seconds')).toMatch(/\{job="tidy"\} \d{10}/);
  });

  it('goes on after a failure, which is no success', async () => {
    Logger.overrideLogger(false);
    let runs = 0;
    jobs.startRemoval({ name: 'bad', everyMs: 1, run: () => Promise.reject(new Error(String((runs += 1)))) });
    await waitFor(() => runs > 2, { what: 'several runs' });
    expect(await metric('job_runs_total')).toContain('{job="bad",result="failed"}');
    expect(await metric('job_last_success_timestamp_seconds')).not.toContain('bad');
  });
});

describe('deleteInBatches', () => {
  it('goes on until there is less than a batch, and sums up', async () => {
    const there = [2, 2, 1, 9];
    expect(await deleteInBatches(2, () => Promise.resolve(there.shift() ?? 0))).toBe(5);
    expect(there).toEqual([9]);
  });
});
