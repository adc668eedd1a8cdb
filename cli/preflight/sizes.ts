const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  PB: 1e15,
  KIB: 1024,
  MIB: 1024 ** 2,
  GIB: 1024 ** 3,
  TIB: 1024 ** 4,
  PIB: 1024 ** 5,
}

/** Bytes, of `100GiB`, `1.5 TB` or `1000000`. null: it is no size. */
export function parseSize(text: string): number | null {
  const [, number, unit] = /^(\d{1,15}(?:\.\d{1,3})?) ?([a-zA-Z]*)$/.exec(text.trim()) ?? []
  const factor = unit === undefined ? undefined : UNITS[unit.toUpperCase()]
  return number === undefined || factor === undefined ? null : Math.floor(Number(number) * factor)
}
