import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile, statfs } from 'node:fs/promises';
import { DAY } from '../../common/clock';
import { nearestExisting } from '../../common/disk-space';
import type { AppConfig } from '../../config/config';
import { readSchemaState, type SchemaState } from '../../database/schema/schema-state';
import { CliError, toErrorReport } from '../session/output';

/** `warning`: worth knowing, but nothing is wrong. `skipped`: could not be checked because of another problem. */
export type CheckStatus = 'ok' | 'warning' | 'problem' | 'skipped';

export interface Finding {
  readonly status: CheckStatus;
  readonly message: string;
  /** The facts behind the message, for programs. */
  readonly details?: Record<string, unknown>;
}

export interface Check extends Finding {
  readonly name: string;
}

/** A finding without a problem. */
export function ok(message: string, details?: Record<string, unknown>): Finding {
  return { status: 'ok', message, ...(details && { details }) };
}

/** Runs one check. A check that throws is a problem too, and must not keep the others from running. */
export async function examine(name: string, check: () => Finding | Promise<Finding>): Promise<Check> {
  try {
    return { name, ...(await check()) };
  } catch (error) {
    return { name, status: 'problem', message: toErrorReport(error).message };
  }
}

/** The first status whose limit the value has reached; `ok` below all of them. */
export function statusAt(value: number, limits: { readonly warning: number; readonly problem: number }): CheckStatus {
  if (value >= limits.problem) return 'problem';
  return value >= limits.warning ? 'warning' : 'ok';
}

/** As package.json says. */
const OLDEST_NODE = [20, 19];

const MEBIBYTE = 1024 * 1024;
/** Postgres stops when it cannot write; a day of mail fits into the warning. */
const FREE_PROBLEM_BYTES = 256 * MEBIBYTE;
const FREE_WARNING_BYTES = 2048 * MEBIBYTE;

/** @param version as in `process.versions.node` */
export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE;
  const recent = major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
  if (recent) return ok(`Node ${version}`, { version });
  return { status: 'problem', message: `Node ${version} is older than ${OLDEST_NODE.join('.')}`, details: { version } };
}

/** Checks the file system of a folder that exists, or will exist. */
export async function checkDisk(folder: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(nearestExisting(folder));
  return rateFreeSpace(bavail * bsize, folder);
}

/** Evaluates the free bytes of a disk. */
export function rateFreeSpace(freeBytes: number, folder: string): Finding {
  const message = `${Math.floor(freeBytes / MEBIBYTE)} MiB free in ${folder}`;
  const details = { folder, freeBytes };
  if (freeBytes < FREE_PROBLEM_BYTES) return { status: 'problem', message, details };
  return { status: freeBytes < FREE_WARNING_BYTES ? 'warning' : 'ok', message, details };
}

/** Let's Encrypt renews with thirty days left: what has not been by then is stuck. */
const EXPIRY_WARNING_DAYS = 14;

const WITHOUT_CERTIFICATE = 'Clients cannot log in over SMTP, and mail that comes in is not encrypted';

/** The certificate of SMTP submission and of the inbound listener. */
export async function checkCertificate(
  { delivery, certificate: files }: Pick<AppConfig, 'delivery' | 'certificate'>,
  now: Date,
): Promise<Finding> {
  if (!files) {
    if (delivery.mode === 'local') return ok('one of its own, for this machine');
    return { status: 'warning', message: `${WITHOUT_CERTIFICATE}: set TLS_CERT_FILE and TLS_KEY_FILE` };
  }
  const certificate = new X509Certificate(await readFile(files.certificateFile));
  const isPair = certificate.checkPrivateKey(createPrivateKey(await readFile(files.keyFile)));
  const days = Math.floor((Date.parse(certificate.validTo) - now.getTime()) / DAY);
  const details = { validTo: new Date(certificate.validTo).toISOString(), names: certificate.subjectAltName ?? '' };
  if (!isPair) return { status: 'problem', message: 'TLS_KEY_FILE is not the key of TLS_CERT_FILE', details };
  if (days < 0) return { status: 'problem', message: 'The certificate of TLS_CERT_FILE has expired', details };
  const message = `The certificate of TLS_CERT_FILE is valid for ${days} more days`;
  return { status: days < EXPIRY_WARNING_DAYS ? 'warning' : 'ok', message, details };
}

/** Reads and evaluates the state of the schema. */
export async function checkMigrations(url: string): Promise<Finding> {
  return rateSchema(await readSchemaState(url));
}

/** Evaluates the state of the schema: a warning while it is usable, else a problem. */
export function rateSchema({ state, isUsable, pending, sentence }: SchemaState): Finding {
  const details = { pending };
  if (state === 'current') return ok(sentence, details);
  return { status: isUsable ? 'warning' : 'problem', message: sentence, details };
}

/** @throws CliError with the sentence of the check */
export async function assertMigrated(url: string): Promise<void> {
  const { status, message, details } = await checkMigrations(url);
  if (status === 'problem') throw new CliError('unhealthy', `Nothing can be checked: ${message}`, details);
}
