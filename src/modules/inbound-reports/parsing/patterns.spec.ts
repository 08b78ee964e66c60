import { corpusNames, readCorpus } from '../../../../test/corpus/reports-corpus';
import { evaluateFailure } from './evaluate-failure';
import { splitMessage } from '../../../common/mime/mime-message';
import { BOUNCE_PATTERNS, DELAY_PATTERNS, FAILURE_PHRASES, GENERIC_BOUNCE_PATTERNS } from './bounce-patterns';
import { COMPLAINT_PATTERNS } from './feedback-report';
import { AUTO_REPLY_PATTERNS, CHALLENGE_PATTERNS } from './dropped-mail';
import { matchesPattern, viewMessage, type MessageView, type MessagePattern } from './message-view';

const TABLES = {
  BOUNCE_PATTERNS,
  GENERIC_BOUNCE_PATTERNS,
  DELAY_PATTERNS,
  COMPLAINT_PATTERNS,
  AUTO_REPLY_PATTERNS,
  CHALLENGE_PATTERNS,
};

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
const rows = Object.entries(TABLES).flatMap(([table, patterns]) =>
  patterns.map((pattern: MessagePattern) => ({ table, pattern })),
);

describe('the tables of patterns', () => {
  it.each(rows)('$table: a message of the corpus shows $pattern.id', ({ pattern }) => {
    expect(views.some((view: MessageView) => matchesPattern(pattern, view))).toBe(true);
  });

  it('have no row without a condition, which would match everything', () => {
    for (const { pattern } of rows) expect(Object.keys(pattern)).toEqual(expect.arrayContaining(['id']));
    for (const { pattern } of rows) {
      expect(pattern.header ?? pattern.from ?? pattern.subject ?? pattern.text).toBeDefined();
    }
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
    const suppressing = FAILURE_PHRASES.filter(({ status }) => evaluateFailure({ status }).suppress);
    expect(suppressing.map(({ status }) => status)).toEqual(['5.2.1', '5.1.1']);
  });
});
