/** Whether the month has it: to Date.parse 31 June is 1 July. Throws RangeError where `day` is not of the form 2027-03-31. */
export function isDay(day: string): boolean {
  return new Date(Date.parse(day)).toISOString().startsWith(day)
}
