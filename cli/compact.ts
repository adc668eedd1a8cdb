/** What is undefined is left out: an option that was not given is no member of a request. */
export function compact<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const given = Object.entries(members).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given) as { [K in keyof T]?: Exclude<T[K], undefined> }
}
