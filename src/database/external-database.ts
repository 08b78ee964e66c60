import { ConfigurationError } from '../config/load-config';
import { isRefusal, unlessDenied } from './database-errors';
import { connectOnce } from './embedded/server-monitor';

/** The same on a primary and its standbys, and at each way to them: the server's identifier, and the database's number within it. */
export const IDENTITY = `
  select system_identifier || '/' || (select oid from pg_database where datname = current_database()) as identity
  from pg_control_system()`;

/**
 * What DATABASE_URL, and DATABASE_DIRECT_URL where it is set, lead to.
 *
 * @param describe host, port and name of a URL
 * @throws ConfigurationError for a database whose dates the driver does not read, or two that are not the same
 */
export async function assertUsable(
  { url, directUrl = url }: { readonly url: string; readonly directUrl?: string | undefined },
  describe: (url: string) => string,
): Promise<void> {
  const { style, identity } = await inspect(url);
  // The driver reads others as nothing: every answer with a time would be a failure.
  if (!style.startsWith('ISO')) {
    const remedy = `run \`alter database … set datestyle = 'ISO'\`, or the same for the role that has it, and start again`;
    throw new ConfigurationError([
      `DATABASE_URL: the database ${describe(url)} writes dates in the style "${style}": ${remedy}`,
    ]);
  }
  if (directUrl === url || identity === undefined) return;
  // Another one would be migrated, and have the leases without which no mail is sent here.
  const direct = (await inspect(directUrl).catch((error: unknown) => refused(error, describe(directUrl)))).identity;
  if (direct === identity) return;
  throw new ConfigurationError([
    `DATABASE_DIRECT_URL: the database ${describe(directUrl)} is not the one of DATABASE_URL ${describe(url)}: name the same`,
  ]);
}

/** Else the refusal would be taken for one at DATABASE_URL. */
function refused(error: unknown, where: string): never {
  if (!isRefusal(error)) throw error;
  throw new ConfigurationError([`DATABASE_DIRECT_URL: the database ${where} refuses: ${(error as Error).message}`]);
}

async function inspect(url: string): Promise<{ readonly style: string; readonly identity: string | undefined }> {
  const client = await connectOnce(url);
  try {
    const { rows: styles } = await client.query<{ DateStyle: string }>('show datestyle');
    const known = await unlessDenied(client.query<{ identity: string }>(IDENTITY));
    return { style: styles[0]?.DateStyle ?? '', identity: known?.rows[0]?.identity };
  } finally {
    await client.end();
  }
}
