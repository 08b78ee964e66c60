import { Module } from '@nestjs/common';
import { SubjectEmailsRepository } from './subject-emails.repository';
import { SubjectEmails } from './subject-emails.service';

/** Reading what went to a data subject. */
@Module({
  providers: [SubjectEmails, SubjectEmailsRepository],
  exports: [SubjectEmails],
})
export class SubjectEmailsModule {}
