"""Names that the Graph API takes: fields of objects, parameters of calls that write, values of enums, and permissions.

From facebook-business 26.0.3 (adobjects), read on 23 November 2026. The permissions are from Meta's Permissions
Reference.
"""

from collections.abc import Mapping

from .shapes import Shape, flag, named, one_of, text, whole

#: The fields of each kind of object, and those edges that we ask for like fields.
FIELDS: Mapping[str, str] = {
    "Page": (
        "about access_token ad_campaign affiliation app_id artists_we_like attire available_promo_offer_ids awards"
        " band_interests band_members best_page bio birthday booking_agent breaking_news_usage built business"
        " can_checkin can_post category category_list checkins company_overview connected_instagram_account"
        " connected_page_backed_instagram_account contact_address copyright_attribution_insights"
        " copyright_whitelisted_ig_partners country_page_likes cover culinary_team current_location"
        " delivery_and_pickup_option_info description description_html differently_open_offerings directed_by"
        " display_subtext displayed_message_response_time does_viewer_have_page_permission_link_ig emails engagement"
        " fan_count featured_video features followers_count food_styles founded general_info general_manager genre"
        " global_brand_page_name global_brand_root_id has_added_app has_lead_access"
        " has_transitioned_to_new_page_experience has_whatsapp_business_number has_whatsapp_number hometown hours id"
        " impressum influences instagram_business_account is_always_open is_calling_eligible is_chain"
        " is_community_page is_eligible_for_branded_content"
        " is_eligible_for_disable_connect_ig_btn_for_non_page_admin_am_web is_messenger_bot_get_started_enabled"
        " is_messenger_platform_bot is_owned is_permanently_closed is_published is_unclaimed is_verified"
        " is_webhooks_subscribed keywords leadgen_tos_acceptance_time leadgen_tos_accepted leadgen_tos_accepting_user"
        " link location members merchant_id merchant_review_status messaging_feature_status"
        " messenger_ads_default_icebreakers messenger_ads_default_quick_replies messenger_ads_quick_replies_type"
        " mini_shop_storefront mission mpg name name_with_location_descriptor network new_like_count offer_eligible"
        " overall_star_rating owner_business page_backed_threads_account_id page_token parent_page parking"
        " payment_options personal_info personal_interests pharma_safety_info phone pickup_options place_type"
        " plot_outline preferred_audience press_contact price_range priority_hours privacy_info_url produced_by"
        " products promotion_eligible promotion_ineligible_reason public_transit rating_count recipient record_label"
        " release_date restaurant_services restaurant_specialties schedule screenplay_by season single_line_address"
        " starring start_info store_code store_location_descriptor store_number studio"
        " supports_donate_button_in_live_video talking_about_count temporary_status unread_message_count"
        " unread_notif_count unseen_message_count user_access_expire_time username verification_status voip_info"
        " website were_here_count whatsapp_number written_by picture"
    ),
    "Post": (
        "actions admin_creator allowed_advertising_objectives application backdated_time call_to_action"
        " can_reply_privately child_attachments comments_mirroring_domain coordinates created_time event"
        " expanded_height expanded_width feed_targeting from full_picture height icon id instagram_eligibility"
        " is_app_share is_eligible_for_dark_post is_eligible_for_promotion is_expired is_fb_live_videos is_hidden"
        " is_inline_created is_instagram_eligible is_live_clip is_popular is_published is_spherical message"
        " message_tags multi_share_end_card multi_share_optimized parent_id permalink_url picture place privacy"
        " promotable_id promotion_status properties scheduled_publish_time shares status_type story story_tags"
        " subscribed target targeting timeline_visibility updated_time via video_buying_eligibility"
        " was_fb_live_videos width attachments comments reactions likes"
    ),
    "Video": (
        "ad_breaks admin_creator audio_isrc backdated_time backdated_time_granularity boost_eligibility_info"
        " content_category content_tags copyright copyright_check_information copyright_monitoring_status"
        " created_time custom_labels description embed_html embeddable event expiration format from icon id"
        " is_crosspost_video is_crossposting_eligible is_episode is_instagram_eligible is_reference_only length"
        " live_audience_count live_status music_video_copyright permalink_url picture place post_id post_views"
        " premiere_living_room_status privacy published replace_audio_status scheduled_publish_time"
        " selected_audio_spec source spherical status title universal_video_id updated_time views application_id"
        " asked_fun_fact_prompt_id audio_story_wave_animation_handle chunk_session_id composer_entry_picker"
        " composer_entry_point composer_entry_time composer_session_events_log composer_session_id"
        " composer_source_surface composer_type container_type creative_tools edit_description_spec end_offset"
        " fbuploader_video_file_chunk file_size file_url fisheye_video_cropped formatting fov front_z_rotation"
        " fun_fact_prompt_id fun_fact_toastee_id guide guide_enabled initial_heading initial_pitch"
        " instant_game_entry_point_data is_ai_generated is_boost_intended is_group_linking_post is_partnership_ad"
        " is_voice_clip location_source_id name og_action_type_id og_icon_id og_object_id og_phrase"
        " og_suggestion_mechanism original_fov original_projection_type partnership_ad_ad_code publish_event_id"
        " referenced_sticker_id replace_video_id slideshow_spec source_instagram_media_id start_offset swap_mode"
        " text_format_metadata thumb time_since_original_post transcode_setting_properties unpublished_content_type"
        " upload_phase upload_session_id upload_setting_properties video_file_chunk video_id_original"
        " video_start_time_ms waterfall_id video_id video_state ad_placements_validation_only creative_folder_id"
        " validation_ad_placements filename filepath"
    ),
    "Comment": (
        "admin_creator application attachment can_comment can_hide can_like can_remove can_reply_privately"
        " comment_count created_time from id is_hidden is_private like_count live_broadcast_timestamp message"
        " message_tags object parent permalink_url private_reply_conversation user_likes comments likes reactions"
    ),
    "IGUser": (
        "biography business_discovery collaborative_media_search followers_count follows_count has_profile_pic id"
        " ig_id is_published legacy_instagram_user_id media_count mentioned_comment mentioned_media"
        " mini_shop_storefront name owner_business profile_picture_url shopping_product_tag_eligibility"
        " shopping_review_status username website"
    ),
    "IGMedia": (
        "alt_text audio_id boost_eligibility_info caption comments_count copyright_check_information"
        " current_live_viewer_count has_poll has_slider id ig_id ingest_first_video_received_time"
        " ingest_is_ready_to_start ingest_key ingest_last_heartbeat_time ingest_state ingest_url ingest_video_height"
        " ingest_video_width is_ai_generated is_comment_enabled is_shared_to_feed legacy_instagram_media_id"
        " like_count live_reactions live_status media_audio_type media_product_type media_type media_url owner"
        " permalink reposts_count saved_count shares_count shortcode thumbnail_url timestamp total_comments_count"
        " total_like_count total_views_count username video_title view_count children comments insights"
    ),
    "IGComment": (
        "from hidden id legacy_instagram_comment_id like_count media parent_id text timestamp user username replies"
    ),
    "Container": ("copyright_check_status id status status_code video_status"),
    "PublishingLimit": ("config quota_usage"),
    "User": (
        "about age_range birthday client_business_id community cover currency education email favorite_athletes"
        " favorite_teams first_name gender hometown id inspirational_people install_type installed is_guest_user"
        " is_work_account languages last_name link local_news_megaphone_dismiss_status local_news_subscription_status"
        " locale location meeting_for middle_name name name_format payment_pricepoints political profile_pic quotes"
        " relationship_status religion shared_login_upgrade_required_by short_name significant_other sports"
        " supports_donate_button_in_live_video third_party_id timezone token_for_business updated_time verified"
        " video_upload_limits website"
    ),
    "Business": (
        "block_offline_analytics collaborative_ads_managed_partner_business_info"
        " collaborative_ads_managed_partner_eligibility collaborative_ads_partner_premium_options created_by"
        " created_time extended_updated_time id is_hidden link marketing_messages_onboarding_status name"
        " payment_account_id primary_page profile_picture_uri timezone_id two_factor_type updated_by updated_time"
        " user_access_expire_time verification_status vertical vertical_id whatsapp_business_manager_messaging_limit"
    ),
    # Of the last two the SDK has no class: reference of a post's attachments, and of `from`.
    "Attachment": "description media media_type subattachments target title type unshimmed_url url",
    "Profile": "id name username",
}
#: The parameters of the calls that write.
PARAMS: Mapping[str, Mapping[str, Shape]] = {
    "feed": {
        **named(
            (
                "attach_place_suggestion audience_exp breaking_news enforce_link_ownership is_backout_draft"
                " is_boost_intended is_explicit_location is_explicit_share is_group_linking_post is_photo_container"
                " manual_privacy multi_share_end_card multi_share_optimized og_hide_object_attachment"
                " og_set_profile_badge published user_selected_tags"
            ),
            flag,
        ),
        **named(
            (
                "asked_fun_fact_prompt_id breaking_news_expiration composer_entry_time direct_share_status"
                " expanded_height expanded_width fun_fact_toastee_id height publish_event_id sponsor_relationship"
                " time_since_original_post video_start_time_ms width"
            ),
            whole(),
        ),
        **named(
            "actions album_id android_key_hash application_id asset3d_id associated_id attached_media backdated_time"
            " backdated_time_granularity call_to_action caption child_attachments client_mutation_id"
            " composer_entry_picker composer_entry_point composer_session_events_log composer_session_id"
            " composer_source_surface composer_type connection_class content_attachment coordinates cta_link cta_type"
            " description feed_targeting formatting fun_fact_prompt_id home_checkin_city_id image_crops"
            " implicit_with_tags instant_game_entry_point_data ios_bundle_id link location_source_id message name"
            " nectar_module object_attachment og_action_type_id og_icon_id og_object_id og_phrase"
            " og_suggestion_mechanism page_recommendation picture place place_attachment_setting place_list"
            " place_list_data post_surfaces_blacklist posting_to_redspace privacy prompt_id prompt_tracking_string"
            " properties proxied_app_id quote ref referenceable_image_ids referral_id scheduled_publish_time source"
            " sponsor_id suggested_place_id tags target_surface targeting text_format_metadata text_format_preset_id"
            " text_only_place thumbnail title tracking_info unpublished_content_type viewer_coordinates"
        ),
        "message": text(r"(?s).*"),
    },
    "photos": {
        **named(
            (
                "allow_spherical_photo audience_exp full_res_is_coming_later is_explicit_location is_explicit_place"
                " manual_privacy no_story og_set_profile_badge published temporary user_selected_tags"
            ),
            flag,
        ),
        **named(
            (
                "attempt direct_share_status filter_type initial_view_heading_override_degrees"
                " initial_view_pitch_override_degrees initial_view_vertical_fov_override_degrees offline_id"
                " parent_media_id scheduled_publish_time sponsor_relationship time_since_original_post"
            ),
            whole(),
        ),
        **named(
            "aid alt_text_custom android_key_hash application_id backdated_time backdated_time_granularity caption"
            " composer_entry_point composer_session_id feed_targeting ios_bundle_id location_source_id message name"
            " nectar_module og_action_type_id og_icon_id og_object_id og_phrase og_suggestion_mechanism place privacy"
            " profile_id proxied_app_id qn spherical_metadata sponsor_id tags target_id targeting uid"
            " unpublished_content_type url vault_image_id"
        ),
        "url": text(r"https?://.+"),
    },
    "videos": {
        **named(
            (
                "embeddable fisheye_video_cropped guide_enabled is_ai_generated is_boost_intended is_explicit_share"
                " is_group_linking_post is_partnership_ad is_voice_clip manual_privacy no_story published"
                " reference_only"
                " secret social_actions spherical"
            ),
            flag,
        ),
        **named(
            (
                "asked_fun_fact_prompt_id composer_entry_time direct_share_status end_offset file_size fov"
                " fun_fact_toastee_id initial_heading initial_pitch original_fov publish_event_id"
                " scheduled_publish_time"
                " sponsor_relationship start_offset time_since_original_post video_start_time_ms"
            ),
            whole(),
        ),
        **named(
            "ad_breaks application_id audio_story_wave_animation_handle backdated_post call_to_action"
            " composer_entry_picker composer_entry_point composer_session_events_log composer_session_id"
            " composer_source_surface composer_type container_type content_category content_tags creative_tools"
            " crossposted_video_id custom_labels description edit_description_spec expiration"
            " fbuploader_video_file_chunk feed_targeting file_url formatting front_z_rotation fun_fact_prompt_id"
            " guide instant_game_entry_point_data location_source_id multilingual_data og_action_type_id og_icon_id"
            " og_object_id og_phrase og_suggestion_mechanism original_projection_type partnership_ad_ad_code"
            " referenced_sticker_id replace_video_id selected_audio_spec slideshow_spec source"
            " source_instagram_media_id specified_dialect sponsor_id swap_mode targeting text_format_metadata thumb"
            " title transcode_setting_properties universal_video_id unpublished_content_type upload_phase"
            " upload_session_id upload_setting_properties video_asset_id video_file_chunk video_id_original"
            " waterfall_id"
        ),
        "upload_phase": one_of("cancel finish start transfer"),
        "file_url": text(r"https?://.+"),
    },
    "comments": {
        **named(
            "attachment_id attachment_share_url attachment_url comment comment_privacy_value feedback_source message"
            " nectar_module parent_comment_id post_id tracking"
        ),
        "message": text(r"(?s).*"),
    },
    "ig_media": {
        **named(
            (
                "cross_post_to_threads is_ai_generated is_carousel_item is_comment_prompt_used is_paid_partnership"
                " is_poll_duration_extended share_to_feed show_ig_link"
            ),
            flag,
        ),
        **named(
            "alt_text audio_configuration audio_name branded_content_sponsor_ids caption children collaborators"
            " cover_url image_url location_id media_type poll_attachment product_tags thumb_offset title trial_params"
            " upload_type user_tags video_url"
        ),
        "media_type": one_of("CAROUSEL IMAGE REELS STORIES VIDEO"),
        "image_url": text(r"https?://.+"),
        "video_url": text(r"https?://.+"),
        "thumb_offset": whole(),
    },
}
ENUMS = {
    "order": ("chronological reverse_chronological"),
    "metric": (
        "comments crossposted_views facebook_views follows ig_reels_avg_watch_time ig_reels_video_view_total_time"
        " impressions likes link_clicks navigation profile_activity profile_visits reach reels_skip_rate replies"
        " reposts saved shares total_comments total_interactions total_likes total_views views"
    ),
    "period": ("day days_28 lifetime month total_over_range week"),
    "of_page": (
        "affiliation agent_messages agent_questions attire awards bio birthday business_integrity"
        " call_permission_reply call_settings_update calls category checkins comment_poll_response company_overview"
        " conversations culinary_team current_location description email feature_access_list feed follow founded"
        " general_info general_manager group_feed hometown hours inbox_labels invalid_topic_placeholder"
        " invoice_access_bank_slip_events invoice_access_invoice_change invoice_access_invoice_draft_change"
        " invoice_access_onboarding_status_active leadgen leadgen_fat leadgen_update live_videos local_delivery"
        " location marketing_message_clicks marketing_message_deliveries marketing_message_delivery_failed"
        " marketing_message_echoes marketing_message_reads marketing_messages_subscriber_upload_status"
        " mcom_invoice_change members mention merchant_review message_context message_deliveries message_echoes"
        " message_edits message_mention message_reactions message_reads message_template_status_update messages"
        " messaging_account_linking messaging_appointments messaging_checkout_updates messaging_customer_information"
        " messaging_direct_sends messaging_fblogin_account_linking messaging_feedback messaging_game_plays"
        " messaging_handovers messaging_in_thread_lead_form_submit messaging_integrity messaging_optins"
        " messaging_optouts messaging_payments messaging_policy_enforcement messaging_postbacks"
        " messaging_pre_checkouts messaging_referrals mission name page_about_story page_change_proposal"
        " page_upcoming_change parking payment_options payment_request_update personal_info personal_interests phone"
        " picture price_range product_review products public_transit publisher_subscriptions ratings registration"
        " response_feedback send_cart standby story_poll_response story_share user_action"
        " video_text_question_responses videos website"
    ),
    "of_account": (
        "comment_poll_response comments follow live_comments mentions message_edit message_reactions messages"
        " messaging_optins messaging_postbacks messaging_referral messaging_seen onboarding_welcome_message_series"
        " share_to_story standby story_insights story_poll_response"
    ),
}
#: Permissions Reference.
PERMISSIONS = (
    "ads_management ads_read attribution_read business_management catalog_management email instagram_basic"
    " instagram_branded_content_ads_brand instagram_branded_content_brand instagram_branded_content_creator"
    " instagram_content_publish instagram_manage_comments instagram_manage_events instagram_manage_insights"
    " instagram_manage_messages instagram_manage_upcoming_events instagram_shopping_tag_products leads_retrieval"
    " manage_app_solution pages_events pages_manage_ads pages_manage_cta pages_manage_engagement"
    " pages_manage_instant_articles pages_manage_metadata pages_manage_posts pages_messaging pages_read_engagement"
    " pages_read_user_content pages_show_list pages_user_gender pages_user_locale pages_user_timezone public_profile"
    " publish_video read_insights whatsapp_business_management whatsapp_business_messaging"
)
