import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { MailboxAccessGuard } from './mailbox-access.guard';
import { MailboxErasure } from './mailbox-erasure.service';
import { MailboxIntake } from './mailbox-intake.service';
import { MailboxMessage } from './mailbox-message.entity';
import { MailboxSmtpServer } from './mailbox-smtp.server';
import { MailboxController } from './mailbox.controller';
import { MailboxRepository } from './mailbox.repository';
import { MailboxService } from './mailbox.service';

/**
 * The built-in mailbox of local mode: a listener that the worker delivers to and pages that show what came. In another
 * mode the pages answer 404, and the listener is never started.
 */
@Module({
  imports: [TypeOrmModule.forFeature([MailboxMessage])],
  controllers: [MailboxController],
  providers: [MailboxAccessGuard, MailboxErasure, MailboxIntake, MailboxRepository, MailboxService, MailboxSmtpServer],
  exports: [MailboxErasure, MailboxSmtpServer],
})
export class MailboxModule {}
