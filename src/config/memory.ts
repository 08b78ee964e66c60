import { totalmem } from 'node:os';
import type { AppConfig } from './config';

const MIB = 1024 * 1024;
/** A process without mail, and the embedded Postgres beside its shared buffers (docs/operations.md, Memory). */
const AT_REST = { process: 150 * MIB, postgres: 100 * MIB };
/**
 * What large mail takes at most, by the bytes that are held of it. Of a request: its body, the decoded attachments and what goes to the
 * database, and garbage, of which V8 lets up to 200 MB come together.
 */
const OF_LARGE_MAIL = {
  api: (held: number) => 230 * MIB + 2 * held,
  submission: (held: number) => 1.5 * held,
};

/** Bytes of this machine, or of this container. */
export function availableMemory(): number {
  // 0, or more than the machine has: no limit.
  const limit = process.constrainedMemory() || Infinity;
  return Math.min(totalmem(), limit);
}

/** Bytes that a process of these roles may take when clients send as much large mail as it holds at a time. */
export function memoryNeeded({ roles, http, database, delivery }: AppConfig): number {
  const role = (['api', 'submission'] as const).find((one) => roles.has(one));
  return (
    AT_REST.process +
    (role === undefined ? 0 : OF_LARGE_MAIL[role](http.heldBodyBytes)) +
    (roles.has('worker') ? delivery.workerMemoryBytes : 0) +
    (database.url === undefined ? AT_REST.postgres + database.embeddedSharedBuffersMegabytes * MIB : 0)
  );
}

/** A sentence for the operator; undefined where the memory is enough. */
export function memoryShortage(config: AppConfig, available = availableMemory()): string | undefined {
  const needed = memoryNeeded(config);
  if (needed <= available) return undefined;
  return (
    `Large mail may take up to ${toMegabytes(needed)} MB here, and there are ${toMegabytes(available)}: the system may end the process. ` +
    'Give it more, or lower BODY_MEMORY_MB and WORKER_MEMORY_MB'
  );
}

function toMegabytes(bytes: number): number {
  return Math.ceil(bytes / MIB);
}
