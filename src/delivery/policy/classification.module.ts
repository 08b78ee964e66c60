import { Module } from '@nestjs/common';
import { AppConfig } from '../../config/config';
import { ReplyClassifier } from './classify-reply';
import { readOwnRules } from './reply-rules';

/** What replies mean: the operator's rules before the built-in ones. A bad file ends the start. */
@Module({
  providers: [
    {
      provide: ReplyClassifier,
      inject: [AppConfig],
      useFactory: ({ delivery: { classificationRules: file } }: AppConfig) =>
        new ReplyClassifier(file === undefined ? [] : readOwnRules(file)),
    },
  ],
  exports: [ReplyClassifier],
})
export class ClassificationModule {}
