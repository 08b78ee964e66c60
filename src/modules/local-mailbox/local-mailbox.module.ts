import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../../auth/auth.module';
import { MailboxAccessGuard, MailboxController } from './mailbox.controller';
import { MailboxErasureService, MailboxService } from './mailbox.service';
import { MailboxIntakeService, MailboxSmtpServer } from './mailbox-smtp.server';
import { MailboxMessage } from './mailbox-message.entity';
import { MailboxRepository } from './mailbox.repository';

/**
 * The built-in mailbox of local mode: a listener that the worker delivers to, and pages that show the mail. In other
 * modes the pages return 404 and the listener is never started.
 */
@Module({
  imports: [TypeOrmModule.forFeature([MailboxMessage]), AuthModule],
  controllers: [MailboxController],
  providers: [
    MailboxAccessGuard,
    MailboxIntakeService,
    MailboxErasureService,
    MailboxRepository,
    MailboxService,
    MailboxSmtpServer,
  ],
  exports: [MailboxErasureService, MailboxService, MailboxSmtpServer],
})
export class LocalMailboxModule {}
