import { corpusNames, readCorpus } from '../../../../../test/corpus/reports-corpus';
import { judgeFailure } from '../judge-failure';
import { splitMessage } from '../mime/split-message';
import { BOUNCE_SIGNS, DELAY_SIGNS, GENERIC_BOUNCE_SIGNS } from './bounce-signs';
import { COMPLAINT_SIGNS } from './complaint-signs';
import { AUTO_REPLY_SIGNS, CHALLENGE_SIGNS } from './dropped-signs';
import { FAILURE_PHRASES } from './failure-phrases';
import { matchesSign, viewMessage, type MessageView, type Sign } from './message-view';

const TABLES = { BOUNCE_SIGNS, GENERIC_BOUNCE_SIGNS, DELAY_SIGNS, COMPLAINT_SIGNS, AUTO_REPLY_SIGNS, CHALLENGE_SIGNS };

/** Sentences as systems write them, under the status that each must mean. */
const PHRASE_EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  '5.7.1': ['was blocked by our Spam Firewall.', '您的邮件被识别为垃圾邮件'],
  '5.2.2': [
    'User mailbox exceeds allowed size: ann@example.org',
    'Das Postfach ist voll.',
    'La boîte aux lettres est pleine',
    'El buzón está lleno',
    'Почтовый ящик получателя переполнен',
    '收件人邮箱已满',
  ],
  '5.3.4': ['message too large for this recipient', 'Die Nachricht ist zu groß.'],
  '4.4.7': ['retry timeout exceeded', "Sorry, I wasn't able to establish an SMTP connection.", 'Connection refused'],
  '5.4.4': ["Sorry, I couldn't find any host named nowhere.test.", 'unrouteable mail domain "nowhere.test"'],
  '5.2.1': ['This mailbox is disabled.', 'Das Postfach ist deaktiviert.'],
  '5.1.1': [
    'Sorry, no mailbox here by that name.',
    'Die E-Mail-Adresse wurde im Zielsystem nicht gefunden.',
    "L'adresse saisie est introuvable",
    'No se encontró la dirección de correo',
    'Пользователь не найден',
    '退信原因: 用户不存在',
    '宛先不明です',
  ],
};

const views = corpusNames()
  .map((name) => splitMessage(readCorpus(name)))
  .filter((message) => message !== undefined)
  .map(viewMessage);
const rows = Object.entries(TABLES).flatMap(([table, signs]) => signs.map((sign: Sign) => ({ table, sign })));

describe('the tables of signs', () => {
  it.each(rows)('$table: a message of the corpus shows $sign.id', ({ sign }) => {
    expect(views.some((view: MessageView) => matchesSign(sign, view))).toBe(true);
  });

  it('have no row without a condition, which would match everything', () => {
    for (const { sign } of rows) expect(Object.keys(sign)).toEqual(expect.arrayContaining(['id']));
    for (const { sign } of rows) expect(sign.header ?? sign.from ?? sign.subject ?? sign.text).toBeDefined();
  });
});

describe('the table of failure phrases', () => {
  it('has examples for every row', () => {
    expect(Object.keys(PHRASE_EXAMPLES).sort()).toEqual(FAILURE_PHRASES.map(({ status }) => status).sort());
  });

  it.each(Object.entries(PHRASE_EXAMPLES).flatMap(([status, texts]) => texts.map((text) => ({ status, text }))))(
    '$status is the first row for $text',
    ({ status, text }) => {
      expect(FAILURE_PHRASES.find(({ pattern }) => pattern.test(text))?.status).toBe(status);
    },
  );

  it('suppresses only for what is wrong with the address', () => {
    const suppressing = FAILURE_PHRASES.filter(({ status }) => judgeFailure({ status }).suppress);
    expect(suppressing.map(({ status }) => status)).toEqual(['5.2.1', '5.1.1']);
  });
});
