import { EXIT } from '../cli-error.ts';
import { terminal } from '../terminal.ts';

export interface Interrupt {
  readonly asked: boolean;
  end(): void;
}

/** The first Ctrl-C lets the step that runs end; the second does not wait for it. */
export function stopOnInterrupt(): Interrupt {
  let asked = false;
  const onSignal = () => {
    if (asked) process.exit(EXIT.interrupted);
    asked = true;
    terminal.say('\nStopping after this step; Ctrl-C again stops at once.');
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return {
    get asked() {
      return asked;
    },
    end: () => {
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
    },
  };
}
