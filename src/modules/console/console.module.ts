import { Module } from '@nestjs/common';
import { AuthModule } from '../../auth/auth.module';
import { ThrottlingModule } from '../../throttling/throttling.module';
import { EmailsModule } from '../emails/emails.module';
import { ConsoleAccessGuard } from './console-access.guard';
import { ConsoleController } from './console.controller';
import { ConsoleFilesService } from './console-files.service';
import { ConsolePreviewController } from './console-preview.controller';
import { ConsoleSessionController } from './console-session.controller';
import { ConsoleSignInService } from './console-sign-in.service';
import { SessionViewService } from './session-view.service';

/** The browser app at `/console`, and its sessions. What it shows it asks the public API for. */
@Module({
  imports: [AuthModule, EmailsModule, ThrottlingModule],
  controllers: [ConsoleSessionController, ConsolePreviewController, ConsoleController],
  providers: [ConsoleAccessGuard, ConsoleFilesService, ConsoleSignInService, SessionViewService],
})
export class ConsoleModule {}
