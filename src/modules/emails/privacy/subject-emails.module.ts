import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Email } from '../email.entity';
import { EmailContent } from '../email-content.entity';
import { EmailEvent } from '../email-event.entity';
import { SubjectEmailsRepository } from './subject-emails.repository';
import { SubjectEmails } from './subject-emails.service';

/** Reading what went to a data subject. */
@Module({
  imports: [TypeOrmModule.forFeature([Email, EmailContent, EmailEvent])],
  providers: [SubjectEmails, SubjectEmailsRepository],
  exports: [SubjectEmails],
})
export class SubjectEmailsModule {}
