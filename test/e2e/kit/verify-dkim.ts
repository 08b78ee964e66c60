import { createHash } from 'node:crypto';
import { dkimVerify } from 'mailauth/lib/dkim/verify';
import { Client } from 'pg';

/** Verifies a message with an independent library against the public key that the service would publish. */
export async function verifyDkim(content: Buffer, databaseUrl: string) {
  const { results } = await dkimVerify(content, {
    resolver: async (name: string, type: string) => {
      const [selector, domain] = name.split('._domainkey.');
      if (type !== 'TXT') throw Object.assign(new Error('no data'), { code: 'ENODATA' });
      return [[`v=DKIM1; k=rsa; p=${await publicKey(databaseUrl, selector!, domain!)}`]];
    },
  });
  return results.map((result: any) => ({
    result: result.status.result,
    domain: result.signingDomain,
    selector: result.selector,
  }));
}

async function publicKey(databaseUrl: string, selector: string, domain: string): Promise<string> {
  const client = new Client(databaseUrl);
  await client.connect();
  try {
    const { rows } = await client.query(
      'select k.public_key from dkim_keys k join domains d on d.id = k.domain_id where d.domain = $1 and k.selector = $2',
      [domain, selector],
    );
    return rows[0].public_key;
  } finally {
    await client.end();
  }
}

export const sha256 = (content: Buffer) => createHash('sha256').update(content).digest('hex');
