import * as dnsPacket from 'dns-packet';
import fc from 'fast-check';
import { shortenReply } from './short-reply';

const QUESTION = { type: 'MX', name: 'x.example', class: 'IN' } as const;

function replyWith(answers: number, additionals = 0): Buffer {
  const record = (number: number) => ({ type: 'A', name: `h${number}.x.example`, ttl: 60, data: '192.0.2.1' }) as const;
  const records = (count: number) => Array.from({ length: count }, (_, number) => record(number));
  const sections = { questions: [QUESTION], answers: records(answers), additionals: records(additionals) };
  return dnsPacket.encode({ type: 'response', id: 7, flags: dnsPacket.AUTHENTIC_DATA, ...sections });
}

/** A thousand records at names of 127 labels, which take 16 KiB. */
function hostileReply(): Buffer {
  const head = replyWith(0);
  const name = Buffer.concat([...Array.from({ length: 126 }, () => Buffer.from([1, 97])), Buffer.from([0])]);
  const pointer = Buffer.from([0xc0 | (head.length >> 8), head.length & 0xff]);
  const alias = (owner: Buffer) => Buffer.concat([owner, Buffer.from([0, 5, 0, 1, 0, 0, 0, 60, 0, 2]), pointer]);
  const message = Buffer.concat([head, alias(name), ...Array.from({ length: 1_000 }, () => alias(pointer))]);
  message.writeUInt16BE(1_001, 6);
  return message;
}

describe('shortenReply', () => {
  it('keeps the first answers and leaves out the sections behind them', () => {
    fc.assert(
      fc.property(fc.nat(20), fc.nat(20), fc.nat(20), (answers, additionals, most) => {
        const short = shortenReply(replyWith(answers, additionals), most);
        const decoded = dnsPacket.decode(short.bytes);
        expect(short.answers).toBe(answers);
        expect(decoded.answers).toEqual(dnsPacket.decode(replyWith(answers)).answers?.slice(0, most));
        expect([decoded.additionals, decoded.authorities]).toEqual([[], []]);
        expect([decoded.id, decoded.questions, decoded.flag_ad]).toEqual([7, [QUESTION], true]);
      }),
    );
  });

  it('leaves a decoder little of a reply of compressed names', () => {
    const hostile = hostileReply();
    expect(hostile.length).toBeGreaterThan(14_000);
    const { bytes, answers } = shortenReply(hostile, 64);
    expect(answers).toBe(1_001);
    expect(bytes.length).toBeLessThan(1_300);
    expect(dnsPacket.decode(bytes).answers).toHaveLength(64);
  });

  it('throws for any message that ends early, and ends for any bytes', () => {
    const whole = replyWith(5);
    fc.assert(
      fc.property(fc.nat(whole.length - 1), (length) => {
        expect(() => shortenReply(whole.subarray(0, length), 64)).toThrow(RangeError);
      }),
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
        try {
          expect(shortenReply(Buffer.from(bytes), 64).bytes.length).toBeLessThanOrEqual(bytes.length);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
        }
      }),
    );
  });
});
