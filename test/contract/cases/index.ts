import type { Cases } from './case.ts';
import { enqueueCases } from './enqueue.ts';
import { observeCases } from './observe.ts';
import { operateCases } from './operate.ts';
import { readCases } from './read.ts';
import { scheduleCases } from './schedules.ts';

export const CASES: Cases = { ...enqueueCases, ...readCases, ...operateCases, ...scheduleCases, ...observeCases };
