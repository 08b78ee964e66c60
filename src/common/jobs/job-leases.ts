/** Who may run a job that two processes must not run at a time. Kept in the database, whose clock decides. */
export abstract class JobLeases {
  /** Takes or renews the lease of a job for this process. @returns false while another process holds it */
  abstract take(job: string, leaseSeconds: number): Promise<boolean>;

  /** Ends this process's lease, so that the next run need not wait for it to expire. */
  abstract release(job: string): Promise<void>;
}
