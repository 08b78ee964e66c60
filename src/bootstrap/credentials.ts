import { open, readFile, rename } from 'node:fs/promises';
import path from 'node:path';

/** What the first start makes, and what somebody needs to send the first mail. */
export interface Credentials {
  readonly organizationId: string;
  readonly domain: string;
  readonly liveKey: string;
  readonly testKey: string;
}

const NAMES = ['organizationId', 'domain', 'liveKey', 'testKey'] as const;

export function credentialsFile(dataDir: string): string {
  return path.join(dataDir, 'credentials.json');
}

/** Undefined when there are none, or nothing that could be used. @throws when the file cannot be read */
export async function readCredentials(dataDir: string): Promise<Credentials | undefined> {
  let text: string;
  try {
    text = await readFile(credentialsFile(dataDir), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  return parse(text);
}

function parse(text: string): Credentials | undefined {
  try {
    const found = JSON.parse(text) as Partial<Record<keyof Credentials, unknown>> | null;
    return NAMES.every((name) => typeof found?.[name] === 'string') ? (found as Credentials) : undefined;
  } catch {
    return undefined;
  }
}

/** Writes the file completely or not at all, readable by its owner only. One caller at a time. */
export async function writeCredentials(dataDir: string, credentials: Credentials): Promise<void> {
  const target = credentialsFile(dataDir);
  const temporary = `${target}.tmp`;
  const file = await open(temporary, 'w', 0o600);
  try {
    await file.chmod(0o600);
    await file.writeFile(`${JSON.stringify(credentials, null, 2)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, target);
}
