import { aesGcm, defineJob } from 'millrace/queue';
import * as z from 'zod';

// Read when a value is sealed or opened, not when this module is loaded: synth and tests have no keys.
const codec = aesGcm(() => process.env.PATIENT_KEYS);

export const contracts = {
  'letter.print': defineJob({ payload: z.object({ patient: z.string(), text: z.string() }), codec }),
};
