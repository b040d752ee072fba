from pinyon.resources import SettingsManager

settings = SettingsManager.in_memory({"retry": {"maxRetries": 1}, "defaultTools": ["read", "grep"]})

print(settings.get_retry_settings().max_retries)
print(settings.get_default_tools())
