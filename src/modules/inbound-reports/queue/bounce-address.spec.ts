import { readBounceAddress } from './bounce-address';

const MAIL_HOST = 'mail.example.org';
const read = (address: string) => readBounceAddress(address, MAIL_HOST);

describe('readBounceAddress', () => {
  it.each([
    ['b+token@mail.example.org', 'b+token'],
    ['B+TOKEN@MAIL.EXAMPLE.ORG', 'B+TOKEN'],
    ['b+token@bounce.customer.example', 'b+token'],
    ['b+token@bounce.bücher.example', 'b+token'],
    ['anyone@mail.example.org', 'anyone'],
    ['@mail.example.org', ''],
  ])('hands on the local part of %s', (address, localPart) => {
    expect(read(address)).toEqual({ kind: 'ours', localPart });
  });

  it.each([
    'b+token@example.org',
    'b+token@mail.example.org.example.com',
    'b+token@xmail.example.org',
    'b+token@bounce',
    'b+token@bounce.',
    'b+token@notbounce.example.org',
    'b+token@[127.0.0.1]',
    'b+token@',
    'victim%example.com@mail.example.org',
    'example.com!victim@mail.example.org',
    'victim@example.com@mail.example.org',
    '@relay.example:victim@mail.example.org',
    'example.com!victim',
  ])('calls %s foreign', (address) => {
    expect(read(address)).toEqual({ kind: 'foreign' });
  });

  it('knows no address without a domain', () => {
    for (const address of ['root', 'fbl', 'abuse', '']) expect(read(address)).toEqual({ kind: 'unknown' });
  });

  it.each([
    ['fbl@mail.example.org', 'fbl'],
    ['FBL@Mail.Example.org', 'fbl'],
    ['abuse@mail.example.org', 'abuse'],
    ['dmarc@mail.example.org', 'dmarc'],
    ['postmaster@mail.example.org', 'postmaster'],
    ['Postmaster', 'postmaster'],
  ])('knows the public mailbox of %s', (address, mailbox) => {
    expect(read(address)).toEqual({ kind: 'public', mailbox });
  });

  it.each(['fbl@bounce.customer.example', 'postmaster@bounce.customer.example', '"fbl"@mail.example.org'])(
    'knows none in %s',
    (address) => {
      expect(read(address)).toMatchObject({ kind: 'ours' });
    },
  );
});
