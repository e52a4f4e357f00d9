import { describe, expect, test } from 'vitest';
import prices from './prices.json' with { type: 'json' };

describe('the price table', () => {
  const all = [prices.perHour, prices.perMonth, prices.perUse].flatMap((group) => Object.entries(group));
  test.each(all)('%s has a price and its source', (_, { usd, source }) => {
    expect(usd).toBeGreaterThan(0);
    expect(source).toMatch(/\w/);
  });
});
