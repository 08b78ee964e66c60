import { Inject, Injectable, Optional } from '@nestjs/common';
import { HealthIndicatorService } from '@nestjs/terminus';
import { BriefCache, within } from '../../common/async/promises';
import { Clock, DatabaseClock, MINUTE, SECOND } from '../../common/clock';
import { MasterKeyRecord } from '../../database/installation/installation.repository';
import { ReadDatabase } from '../../database/pool/read-database.service';
import { type DiskHealth, DiskSpace } from '../../common/disk-space';
import { acrossTenants } from '../../common/tenant';
import { Draining } from '../../common/http/server/draining';
import { Database } from '../../database/pool/database.service';
import type { RowSecurity } from '../../database/statements/row-security';
import { AppConfig } from '../../config/config';
import { type HeldBack, HeldDestinations } from '../../delivery/shaping/held-destinations.service';
import { QueueMeasures } from '../../delivery/queue/queue-measures.service';
import { type DatabaseFault, databaseFault } from './database-fault';
import { DatabaseProbe } from './database-probe';

const TIMEOUT_MS = 2 * SECOND;
/** Any number of requests costs one statement per this time. */
const CACHE_MS = 2 * SECOND;
/** Age from which ready mail counts as late. A slow destination delays some mail for less than that. */
const LATE_SECONDS = (15 * MINUTE) / SECOND;

/** How much mail is open; only the fault when it could not be measured. */
export type QueueHealth =
  | {
      readonly healthy: true;
      /** Open deliveries: ready, waiting and claimed ones. */
      readonly depth: number;
      readonly ready: number;
      readonly waiting: number;
      readonly claimed: number;
      /** How long the oldest delivery that could start has waited. */
      readonly oldestSeconds: number;
    }
  | { readonly healthy: false; readonly error: DatabaseFault };

/** The one next hop of the mode `relay`, as the workers have found it: only a state, since the report is public. */
export interface SmtpHealth {
  readonly healthy: boolean;
  /** `paused`: it is not found, is not reached or refuses, and gets no mail for now; `unknown`: this could not be read. */
  readonly relay: 'open' | HeldBack['state'] | 'unknown';
}

/** `database`: up when a statement returns within 2 s. */
@Injectable()
export class DatabaseHealthIndicator {
  constructor(
    private readonly indicators: HealthIndicatorService,
    private readonly probe: DatabaseProbe,
    private readonly database: Database,
  ) {}

  /** The state as found at the start. */
  get rowSecurityState(): RowSecurity['state'] {
    return this.database.rowSecurity.state;
  }

  async check() {
    const session = this.indicators.check('database');
    const health = await this.probe.check();
    return health.healthy ? session.up({ health }) : session.down({ health });
  }
}

/** `queue`: up, degraded when no worker runs or mail is late, down when it could not be measured. */
@Injectable()
export class QueueHealthIndicator {
  private readonly measure;

  constructor(
    private readonly indicators: HealthIndicatorService,
    private readonly config: AppConfig,
    private readonly held: HeldDestinations,
    measures: QueueMeasures,
    clock: Clock,
  ) {
    this.measure = new BriefCache(() => acrossTenants(() => measures.last()), CACHE_MS, clock);
  }

  async check() {
    const session = this.indicators.check('queue');
    try {
      const { ready, waiting, claimed, oldestReadySeconds, workers } = await within(this.measure.get(), TIMEOUT_MS);
      const oldestSeconds = Math.max(0, Math.round(oldestReadySeconds));
      const depth = ready + waiting + claimed;
      const health: QueueHealth = { healthy: true, depth, oldestSeconds, ready, waiting, claimed };
      const late = workers === 0 || oldestSeconds > LATE_SECONDS;
      return late ? session.degraded({ health, workers }) : session.up({ health, workers });
    } catch (error) {
      const health: QueueHealth = { healthy: false, error: databaseFault(error) };
      return session.down({ health, workers: undefined });
    }
  }

  /** `smtp`: degraded while the relay gets no mail. Absent in other modes. */
  async relay() {
    const session = this.indicators.check('smtp');
    const { relay } = this.config.delivery;
    if (!relay) return session.up({ health: undefined as SmtpHealth | undefined });
    try {
      const { state = 'open' } = (await within(this.held.get(), TIMEOUT_MS)).of(relay.host) ?? {};
      const health: SmtpHealth = { healthy: state !== 'paused', relay: state };
      return health.healthy ? session.up({ health }) : session.degraded({ health });
    } catch {
      // The database's own health tells that.
      const health: SmtpHealth = { healthy: true, relay: 'unknown' };
      return session.up({ health });
    }
  }
}

/** Whether this process's clock agrees with the database's; while it does not, the process claims and ends no deliveries. */
export interface ClockHealth {
  readonly healthy: boolean;
  /** How far this process's clock is ahead; negative when it is behind. */
  readonly offsetSeconds: number;
}

/** Health of the host and the process: replica, clock, disk and master key. */
@Injectable()
export class HostHealthIndicator {
  private readonly knowsKey;

  constructor(
    private readonly indicators: HealthIndicatorService,
    private readonly time: Clock,
    @Optional() @Inject(DiskSpace) private readonly space?: DiskSpace,
    @Optional() @Inject(ReadDatabase) private readonly reads?: Pick<ReadDatabase, 'health'>,
    @Optional() @Inject(MasterKeyRecord) record?: Pick<MasterKeyRecord, 'isKnown'>,
  ) {
    this.knowsKey = record && new BriefCache(() => acrossTenants(() => record.isKnown()), CACHE_MS, time);
  }

  /** `masterKey`: degraded while other processes use one that this one lacks; the database's own health tells why it cannot be read. */
  async masterKey() {
    const session = this.indicators.check('masterKey');
    const known = await within(Promise.resolve(this.knowsKey?.get()), TIMEOUT_MS).catch(() => true);
    return (known ?? true) ? session.up({ known: true }) : session.degraded({ known: false });
  }

  /** `replica`: degraded while reads go to the primary instead. Absent without a replica. */
  replica() {
    const session = this.indicators.check('replica');
    const health = this.reads?.health;
    return (health?.healthy ?? true) ? session.up({ health }) : session.degraded({ health });
  }

  /** `clock`: degraded while it disagrees with the database's. */
  clock() {
    const session = this.indicators.check('clock');
    const offsetMs = this.time instanceof DatabaseClock ? this.time.offsetMs : 0;
    const health: ClockHealth = { healthy: this.time.isReliable, offsetSeconds: Math.round(offsetMs) / SECOND };
    return health.healthy ? session.up({ health }) : session.degraded({ health });
  }

  /** `disk`: degraded while new mail is refused because a disk is nearly full. */
  disk() {
    const session = this.indicators.check('disk');
    const health: DiskHealth = this.space?.health ?? { healthy: true };
    return health.healthy ? session.up({ health }) : session.degraded({ health });
  }
}

/** `process`: down once the process is stopping, so that a load balancer removes it before the port closes. */
@Injectable()
export class ProcessHealthIndicator {
  constructor(
    private readonly indicators: HealthIndicatorService,
    @Optional() @Inject(Draining) private readonly draining?: Draining,
  ) {}

  check() {
    const session = this.indicators.check('process');
    return this.draining?.announced ? session.down('stopping') : session.up();
  }
}
