/** `reward` of the condition `reward>=0.5`. */
export const scoreName = (condition: string): string => condition.replace(/\s*(>=|<=|=|>|<).*$/s, "");
