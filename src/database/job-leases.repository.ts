import { Injectable } from '@nestjs/common';
import { JobLeases } from '../common/jobs/periodic-jobs';
import { newId } from '../common/ids';
import { Database } from './database.service';
import { releaseJobLease, takeJobLease } from './sql/job-leases.sql';

/** Leases in the table `job_leases`; each process is one holder. */
@Injectable()
export class JobLeasesRepository extends JobLeases {
  private readonly holder = newId();

  constructor(private readonly database: Database) {
    super();
  }

  async take(job: string, leaseSeconds: number): Promise<boolean> {
    return (await this.database.run(takeJobLease(job, this.holder, leaseSeconds))).length === 1;
  }

  async release(job: string): Promise<void> {
    await this.database.run(releaseJobLease(job, this.holder));
  }
}
