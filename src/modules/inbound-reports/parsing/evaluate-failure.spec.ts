import { evaluateFailure, findReply } from './evaluate-failure';

describe('findReply', () => {
  it.each([
    ['550 5.1.1 No such user', 550, '5.1.1'],
    ['550-5.1.1 No such user', 550, '5.1.1'],
    ['host mx.example.org[192.0.2.1] said: 452 4.2.2 full', 452, '4.2.2'],
    ['<<< 550 User unknown', 550, undefined],
    ['554: delivery error', 554, undefined],
    ['The error was: 550 550 5.1.1 User unknown', 550, '5.1.1'],
    ['no mailbox here (#5.1.1)', undefined, '5.1.1'],
    ['550 Unknown (#5.7.1)', 550, '5.7.1'],
  ])('finds the codes of %s', (text, code, enhancedCode) => {
    const found = findReply(text);
    expect([found?.code, found?.enhancedCode]).toEqual([code, enhancedCode]);
  });

  it.each([
    'I tried 500 times',
    'from 192.0.2.1',
    'call 555-1234',
    'at 5.1.1.7',
    'version 14.5.1.1',
    'in 421 days',
    '',
  ])('finds none in %s', (text) => {
    expect(findReply(text)).toBeUndefined();
  });
});

describe('evaluateFailure', () => {
  it.each([
    [{ text: '550 5.1.1 User unknown' }, 'hard', true, 'bad-mailbox'],
    [{ text: '550 5.1.1 User unknown', shared: true }, 'hard', false, 'bad-mailbox'],
    [{ text: '550 User unknown', status: '5.0.0' }, 'hard', true, 'bad-mailbox'],
    [{ text: '550 5.7.1 User unknown', status: '5.1.1' }, 'hard', false, 'bad-mailbox'],
    [{ text: '550 5.1.1 User unknown', status: '4.4.7' }, 'soft', false, 'bad-mailbox'],
    [{ text: '451 4.7.1 Greylisted', status: '5.1.1' }, 'soft', false, 'greylisted'],
    [{ text: '552 5.2.2 Over quota' }, 'soft', false, 'mailbox-full'],
    [{ text: '550 5.7.26 Unauthenticated email' }, 'soft', false, 'authentication'],
    [{ status: '5.1.1' }, 'hard', true, 'bad-mailbox'],
    [{ status: '4.4.1' }, 'soft', false, 'routing'],
    [{ text: '550 whatever' }, 'hard', false, 'unclassified'],
    [{ text: '550 whatever (in reply to end of DATA command)' }, 'soft', false, 'unclassified'],
    [{ text: '550 5.1.1 User unknown (in reply to MAIL FROM command)' }, 'soft', false, 'bad-mailbox'],
    [{ text: 'whatever' }, 'soft', false, 'unclassified'],
    [{}, 'soft', false, 'unclassified'],
  ])('reads %j', (grounds, bounceType, suppress, reason) => {
    expect(evaluateFailure(grounds)).toMatchObject({ kind: 'bounce', action: 'failed', bounceType, suppress, reason });
  });

  it.each([
    ['550-Verification failed for <b@example.org> 550-No Such User Here 550 Sender verify failed', 'sender-rejected'],
    ['550-Sender verify failed 550 5.1.1 <b@example.org>: User unknown', 'sender-rejected'],
    [
      '550-5.2.1 The user you are trying to contact is receiving mail at a 550-5.2.1 rate that prevents additional ' +
        '550 5.2.1 messages from being delivered',
      'rate-limited',
    ],
    [`550-5.1.1 ${'no such user '.repeat(60)}550 5.1.1 Client host blocked using zen.spamhaus.org`, 'reputation'],
  ])('reads all lines of %s', (text, reason) => {
    expect(evaluateFailure({ text })).toMatchObject({ bounceType: 'soft', suppress: false, reason });
  });

  it('cuts the response to printable text', () => {
    expect(evaluateFailure({ text: `550 \0\r\n${'x'.repeat(600)}` }).response).toBe(`550 ${'x'.repeat(496)}`);
  });
});
