/** Returns a forged cursor of the same list, at another position. */
export function movedCursor(cursor: string, place: readonly unknown[]): string {
  const [list] = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')) as [string]
  return Buffer.from(JSON.stringify([list, ...place])).toString('base64url')
}
