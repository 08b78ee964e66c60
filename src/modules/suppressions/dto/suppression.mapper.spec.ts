import fc from 'fast-check';
import { FairTurns, WorkTurns } from '../../../common/async/fair-turns';
import { AppError, ValidationError } from '../../../common/errors/app-error';
import { addressKey } from '../../../common/mail-address';
import { toAddress, toBatch } from './suppression.mapper';
import { anyCharacter } from '../../../../test/factories/any-character';

const anyEntry = fc.oneof(
  fc.anything(),
  fc.record({ email: fc.oneof(fc.string({ unit: anyCharacter }), fc.emailAddress()), reason: fc.constant('manual') }),
  fc.record({ email: fc.emailAddress(), reason: fc.anything(), notes: fc.anything() }, { requiredKeys: [] }),
);

describe('a batch', () => {
  const turns = new WorkTurns('a');

  it('becomes entries and refusals, one for each element and in order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyEntry, { minLength: 1, maxLength: 20 }), async (body) => {
        const items = await toBatch(body, turns);
        expect(items).toHaveLength(body.length);
        items.forEach((item, index) => {
          if (!(item instanceof AppError)) return expect(toAddress(item.email)).toBe(item.email);
          const { validation } = item.details as { validation: object };
          expect(Object.keys(validation).every((path) => path.startsWith(`${index}.`))).toBe(true);
        });
      }),
    );
  });

  it('that is none is refused', async () => {
    const noBatch = fc.anything().filter((value) => !Array.isArray(value) || value.length === 0);
    await fc.assert(fc.asyncProperty(noBatch, (body) => expect(toBatch(body, turns)).rejects.toThrow(ValidationError)));
  });

  it('of a thousand elements is validated in turns of the event loop', async () => {
    const body = Array.from({ length: 1_000 }, (_, index) => ({ email: `a${index}@x.example`, reason: 'manual' }));
    const loop = new FairTurns();
    const next = jest.spyOn(loop, 'next');
    await toBatch(body, new WorkTurns('a', loop, 0));
    expect(next).toHaveBeenCalledTimes(1_000);
  });
});

it.each(['*@example.com', '**@example.com', '*@*'])('the pattern %s is no address', (email) => {
  expect(() => toAddress(email)).toThrow(ValidationError);
});

it('an address is matched in whatever case it is given', () => {
  fc.assert(
    fc.property(fc.emailAddress(), (email) => {
      fc.pre(isAddress(email));
      expect(addressKey(toAddress(email.toUpperCase()))).toBe(addressKey(toAddress(email)));
    }),
  );
});

function isAddress(email: string): boolean {
  try {
    return toAddress(email) !== '';
  } catch {
    return false;
  }
}
