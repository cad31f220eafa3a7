/** `large` in `npm run verify`, where time matters less than numbers. */
export const isLargeScale = process.env['CARDAUTH_TEST_SCALE'] === 'large';

export function bySize<T>(small: T, large: T): T {
  return isLargeScale ? large : small;
}
