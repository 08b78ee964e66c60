import { Module } from '@nestjs/common';
import { AuthModule } from '../../auth/auth.module';
import { ThrottlingModule } from '../../throttling/throttling.module';
import { EmailsModule } from '../emails/emails.module';
import { InboundMailModule } from '../inbound-mail/inbound-mail.module';
import { ConsoleAccessGuard, ConsoleController, ConsoleSessionController } from './console.controller';
import { ConsoleFiles } from './console-files';
import { ConsolePreviewController, InboundPreviewController } from './console-preview.controller';
import { ConsoleSignIn } from './console-sign-in';
import { SessionViewService } from './session-view.service';

/** The browser app at `/console`, and its sessions. Its data come from the public API. */
@Module({
  imports: [AuthModule, EmailsModule, InboundMailModule, ThrottlingModule],
  controllers: [ConsoleSessionController, InboundPreviewController, ConsolePreviewController, ConsoleController],
  providers: [ConsoleAccessGuard, ConsoleFiles, ConsoleSignIn, SessionViewService],
})
export class ConsoleModule {}
