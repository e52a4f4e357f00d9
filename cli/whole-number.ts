import { InvalidArgumentError } from 'commander';

/** Reads an option that takes a whole number from `min` to `max`. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = /^-?\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (number >= min && number <= max) return number;
    throw new InvalidArgumentError(`It takes a whole number from ${min} to ${max}.`);
  };
}
