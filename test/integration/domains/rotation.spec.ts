import { HOUR } from '../../../src/common/clock';
import { RotationScene } from './rotation-scene';

let scene: RotationScene;
afterEach(() => scene.close());

const pass = (selector: string) => ({ selector, result: 'pass' });

async function expectInProgress(): Promise<void> {
  const { status, body } = await scene.rotate();
  expect([status, body.error?.code]).toEqual([409, 'dkim_rotation_in_progress']);
}

describe('a rotation where the customer publishes the keys', () => {
  beforeEach(async () => {
    scene = await RotationScene.open();
  });

  it('changes keys without a mail that cannot be verified, at 0, 47 and 49 hours', async () => {
    const { status, body } = await scene.rotate();
    expect([status, body.data.dkim_selector, body.data.dkim_status]).toEqual([200, 'wb2', 'verified']);
    expect(await scene.listedSelectors()).toEqual(['wb1', 'wb2']);
    const unseen = await scene.send();
    expect(await scene.check(unseen)).toEqual(pass('wb1'));

    await scene.publishListed();
    expect((await scene.verify()).data).toMatchObject({ success: true, dkim_verified: true, errors: [] });
    const seen = await scene.send();
    expect(await scene.check(seen)).toEqual(pass('wb2'));
    expect(await scene.check(unseen)).toEqual(pass('wb1'));
    await expectInProgress();

    scene.app.clock.advance(47 * HOUR);
    expect(await scene.removeExpired()).toBe(0);
    await scene.publishListed();
    expect(await scene.listedSelectors()).toEqual(['wb1', 'wb2']);
    expect(await scene.check(unseen)).toEqual(pass('wb1'));
    expect(await scene.sendAndCheck()).toEqual(pass('wb2'));
    await expectInProgress();

    scene.app.clock.advance(2 * HOUR);
    expect(await scene.listedSelectors()).toEqual(['wb2']);
    await scene.publishListed();
    expect(await scene.removeExpired()).toBe(1);
    expect(await scene.check(seen)).toEqual(pass('wb2'));
    expect(await scene.sendAndCheck()).toEqual(pass('wb2'));
    expect((await scene.rotate()).body.data.dkim_selector).toBe('wb3');
  });

  it('signs with the old key for as long as the new one has not been seen, and says after 72 hours that it failed', async () => {
    await scene.rotate();
    await scene.verify();
    for (const hours of [47, 2, 24]) {
      scene.app.clock.advance(hours * HOUR);
      expect(await scene.removeExpired()).toBe(0);
      await scene.verify();
      expect(await scene.sendAndCheck()).toEqual(pass('wb1'));
      expect(await scene.listedSelectors()).toEqual(['wb1', 'wb2']);
      await expectInProgress();
    }
    expect(await scene.domain()).toMatchObject({ dkim_status: 'failed', verification_status: 'verified' });

    const last = await scene.send();
    await scene.publishListed();
    await scene.verify();
    expect(await scene.domain()).toMatchObject({ dkim_status: 'verified' });
    expect(await scene.sendAndCheck()).toEqual(pass('wb2'));
    // The old key signed until now: it stays for mail that is under way.
    scene.app.clock.advance(23 * HOUR);
    await scene.publishListed();
    expect(await scene.removeExpired()).toBe(0);
    expect(await scene.check(last)).toEqual(pass('wb1'));
    scene.app.clock.advance(2 * HOUR);
    expect(await scene.removeExpired()).toBe(1);
    expect(await scene.listedSelectors()).toEqual(['wb2']);
  });

  it('happens once, however many requests come at the same time', async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => scene.rotate()));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409, 409]);
    expect(await scene.listedSelectors()).toEqual(['wb1', 'wb2']);
  });

  it('writes down who rotated, what was seen and what was removed', async () => {
    await scene.rotate();
    await scene.publishListed();
    await scene.verify();
    scene.app.clock.advance(49 * HOUR);
    await scene.removeExpired();
    const entries = await scene.app.db.query<{ actor: string; action: string; data: object }>(
      "select actor, action, data from audit_log where action like 'dkim.%' order by id",
    );
    const key = expect.stringMatching(/^[0-9a-f-]{36}$/);
    expect(entries).toEqual([
      { actor: key, action: 'dkim.verified', data: expect.anything() },
      { actor: key, action: 'dkim.rotated', data: { selector: 'wb2' } },
      { actor: key, action: 'dkim.activated', data: expect.objectContaining({ selector: 'wb2' }) },
      { actor: 'system', action: 'dkim.removed', data: { selector: 'wb1' } },
    ]);
  });
});

describe('a rotation in a delegated zone', () => {
  beforeEach(async () => {
    scene = await RotationScene.open({ DKIM_ZONE: 'dkim.waybill.example' });
  });

  it('changes keys while the customer changes nothing, at 0, 47 and 49 hours, again and again', async () => {
    const { records } = await scene.domain();
    let [signing, other] = ['wb1', 'wb2'];
    for (let round = 0; round < 3; round += 1) {
      const before = await scene.send();
      expect(await scene.check(before)).toEqual(pass(signing));
      expect((await scene.rotate()).body.data.dkim_selector).toBe(other);
      expect(await scene.sendAndCheck()).toEqual(pass(signing));

      await scene.publishZone();
      await scene.verify();
      expect(await scene.sendAndCheck()).toEqual(pass(other));
      expect(await scene.check(before)).toEqual(pass(signing));

      scene.app.clock.advance(47 * HOUR);
      await scene.publishZone();
      expect(await scene.check(before)).toEqual(pass(signing));
      expect(await scene.sendAndCheck()).toEqual(pass(other));
      await expectInProgress();

      scene.app.clock.advance(2 * HOUR);
      await scene.publishZone();
      expect((await scene.check(before)).result).not.toBe('pass');
      expect(await scene.sendAndCheck()).toEqual(pass(other));
      [signing, other] = [other, signing];
    }
    const hosts = (domain: any) => domain.map(({ type, host, value }: any) => [type, host, value]);
    expect(hosts((await scene.domain()).records)).toEqual(hosts(records));
  });
});
