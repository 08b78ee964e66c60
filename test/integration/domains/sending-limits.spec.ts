import { HOUR } from '../../../src/common/clock';
import type { AppError } from '../../../src/common/errors/app-error';
import type { Mode } from '../../../src/common/tenant';
import { Database } from '../../../src/database/pool/database.service';
import { DomainDetailsService } from '../../../src/modules/domains/domain-details.service';
import { DomainRegistrationService } from '../../../src/modules/domains/domain-registration.service';
import { DomainsService } from '../../../src/modules/domains/domains.service';
import { toDomainDto } from '../../../src/modules/domains/dto/domain.dto';
import { RestrictionsService } from '../../../src/modules/domains/restrictions/restrictions.service';
import { SendEmailsService } from '../../../src/modules/emails/accept/send-emails.service';
import { sendBody } from '../../factories/send-requests';
import { addDomain, createTenant } from '../../factories/tenants';
import { type Core, startCore } from '../../setup/core-context';
import { limitsScene, readDomain } from './limits-scene';

const START = '2026-01-10T12:00:00.000Z';
const CALM = { DELIVERY_MODE: 'relay', RELAY_URL: 'smtp://127.0.0.1:2525', WARMUP_ENABLED: 'false' };

describe('sending from a domain that is held back', () => {
  const scene = limitsScene(START, CALM);
  afterEach(() => jest.restoreAllMocks());

  const restrict = (status: 'slowed' | 'paused', dailyLimit = 100) =>
    scene.db.query(
      `update domains set sending_status = $2, sending_status_reason = 'bounces', sending_status_since = $3,
         sending_daily_limit = $4 where id = $1`,
      [scene.tenant.domainId, status, scene.clock.now(), dailyLimit],
    );
  const send = (count: number, options: { domain?: string; mode?: Mode; on?: Core } = {}) => {
    const { domain = scene.tenant.domain, mode = 'live', on = scene.core } = options;
    const to = Array.from({ length: count }, (_, index) => `r${index}@example.com`);
    return on.get(SendEmailsService).sendOne(sendBody({ to, from: `a@${domain}` }), undefined, scene.tenant.as(mode));
  };
  const refusal = (count: number, options = {}) =>
    send(count, options).then(
      () => undefined,
      (error: AppError) => error,
    );

  it('is refused while it is paused, with what helps and when it ends', async () => {
    await restrict('paused');
    scene.clock.advance(HOUR);
    expect(await refusal(2)).toMatchObject({
      ...{ code: 'sending_limit_exceeded', retryAfterSeconds: 23 * 3_600 },
      details: { limit: 0, used: 0, requested: 2, reason: 'sending_paused', resetsAt: '2026-01-11T12:00:00.000Z' },
      message: expect.stringContaining(scene.tenant.domain),
      suggestion: expect.stringMatching(/Remove the addresses.* 0 recipients/),
    });
  });

  it('is refused above the allowance while it is slowed, the rest is accepted', async () => {
    await restrict('slowed', 110);
    await send(50);
    await send(50);
    expect(await refusal(11)).toMatchObject({
      ...{ code: 'sending_limit_exceeded', retryAfterSeconds: 12 * 3_600 },
      details: { limit: 110, used: 100, requested: 11, reason: 'sending_slowed', resetsAt: '2026-01-11T00:00:00.000Z' },
      suggestion: expect.stringMatching(/110 recipients a day/),
    });
    await send(10);
    scene.clock.advance(12 * HOUR);
    await send(50);
  });

  it('keeps to the allowance, from several processes at once', async () => {
    await restrict('slowed');
    const other = await startCore(scene.db.url, { clock: scene.clock, env: CALM });
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) => refusal(5, { on: index % 2 === 0 ? scene.core : other })),
    );
    expect(answers.filter((error) => error === undefined)).toHaveLength(20);
    await other.close();
  });

  it('leaves other domains, other organizations and test mail alone', async () => {
    const sibling = await readDomain(scene.db, await addDomain(scene.db, scene.tenant.organizationId));
    await restrict('paused');
    await send(50, { domain: sibling.domain as string });
    await send(1, { mode: 'test' });
    const outsider = await createTenant(scene.db);
    await scene.core.get(SendEmailsService).sendOne(sendBody(), undefined, outsider.as('live'));
    expect(await refusal(1)).toMatchObject({ details: { reason: 'sending_paused' } });
  });

  it('holds for a domain in its warm-up too: the smaller allowance counts', async () => {
    const warming = await startCore(scene.db.url, { clock: scene.clock, env: { ...CALM, WARMUP_ENABLED: 'true' } });
    await restrict('slowed');
    expect(await refusal(21, { on: warming })).toMatchObject({ details: { limit: 20, reason: 'warming' } });
    await restrict('slowed', 5);
    await warming.close();
    const fresh = await startCore(scene.db.url, { clock: scene.clock, env: { ...CALM, WARMUP_ENABLED: 'true' } });
    expect(await refusal(6, { on: fresh })).toMatchObject({ details: { limit: 5, reason: 'sending_slowed' } });
    await fresh.close();
  });

  it('begins no warm-up where that is switched off', async () => {
    await restrict('slowed');
    await send(1);
    expect(await readDomain(scene.db, scene.tenant.domainId)).toMatchObject({ warming_status: 'not_started' });
  });

  it('costs an active domain no statement', async () => {
    const statements = jest.spyOn(scene.core.get(Database), 'run');
    await send(50);
    expect(statements.mock.calls.map(([{ name }]) => name)).not.toContain('reserve-recipients');
  });

  it('is not escaped by removing the domain and adding it again', async () => {
    await scene.core.get(RestrictionsService).pauseByOperator(scene.tenant.domainId, 'phishing');
    await scene.core
      .get(DomainRegistrationService)
      .remove(scene.tenant.organizationId, scene.tenant.domainId, 'operator');
    const again = await scene.core
      .get(DomainsService)
      .add(scene.tenant.organizationId, scene.tenant.domain, 'operator');
    expect(again).toMatchObject({ id: scene.tenant.domainId, sending: { status: 'paused', reason: 'operator' } });
    await scene.core.get(DomainsService).markVerified(scene.tenant.organizationId, scene.tenant.domain);
    const error = await refusal(1);
    expect(error?.details).toEqual({ limit: 0, used: 0, requested: 1, reason: 'sending_paused' });
    expect(error?.suggestion).toMatch(/operator/);
  });

  it('is shown in the domain, and an active one as ever', async () => {
    const shown = async () => {
      const domain = await scene.core.get(DomainsService).get(scene.tenant.organizationId, scene.tenant.domainId);
      return toDomainDto(await scene.core.get(DomainDetailsService).detailOf(domain));
    };
    expect(Object.keys(await shown())).not.toContain('sending_status');
    await restrict('slowed');
    expect(await shown()).toMatchObject({ sending_status: 'slowed', sending_status_reason: 'bounces' });
  });
});
