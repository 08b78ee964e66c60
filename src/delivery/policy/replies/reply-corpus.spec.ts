import { judgedReplies } from '../../../../test/corpus/replies-corpus';
import { parseExample } from '../../../../test/factories/reply-examples';
import { BUILT_IN_CLASSIFIER } from './classify-reply';

it('each reply of the corpus is judged as a person would', () => {
  const replies = judgedReplies();
  expect(replies.length).toBeGreaterThan(400);
  const found = replies.map(({ example }) => {
    const { action, class: kind } = BUILT_IN_CLASSIFIER.classify(parseExample(example));
    return { action, class: kind, example };
  });
  expect(found).toEqual(replies);
});
