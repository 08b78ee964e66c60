import { SmtpSink } from '../../doubles/smtp-sink';
import { DeliveryScene } from '../../setup/delivery-scene';

describe('notifications of delivery', () => {
  let scene: DeliveryScene;
  let sink: SmtpSink;

  beforeAll(async () => {
    scene = await DeliveryScene.open();
  });
  afterEach(async () => {
    await scene.clear();
    await sink.stop();
  });
  afterAll(() => scene.close());

  /** The envelope commands of one email that goes to a next hop. */
  async function envelopeOf(options: {
    offered: boolean;
    isFinalHop: boolean;
  }): Promise<{ id: string; lines: string[] }> {
    sink = await SmtpSink.start({ dsn: options.offered });
    const id = await scene.accept({ to: ['ada@x.example'] });
    await scene.startWorker({ hopPort: sink.port, isFinalHop: options.isFinalHop });
    await scene.readWhenStatus(id, options.isFinalHop ? 'delivered' : 'sent');
    return { id, lines: sink.commands.filter((line) => /^(MAIL|RCPT)/.test(line)) };
  }

  it('are requested from a relay that offers them', async () => {
    const { id, lines } = await envelopeOf({ offered: true, isFinalHop: false });
    expect(lines).toEqual([
      expect.stringMatching(new RegExp(`^MAIL FROM:<b\\+[a-z2-7]{55}@mail\\.waybill\\.test> RET=HDRS ENVID=${id}$`)),
      'RCPT TO:<ada@x.example> NOTIFY=SUCCESS,FAILURE ORCPT=rfc822;ada@x.example',
    ]);
  });

  it.each([
    ['a relay that does not offer them', { offered: false, isFinalHop: false }],
    ['the recipient’s own server', { offered: true, isFinalHop: true }],
  ])('are not requested from %s', async (_what, options) => {
    expect((await envelopeOf(options)).lines.join('\n')).not.toMatch(/RET=|ENVID=|NOTIFY=|ORCPT=/);
  });
});
